# SPDX-License-Identifier: Apache-2.0
"""serifos-balancer and serifos-model in the testbed, as users run them."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import json
import pathlib
import subprocess
import time
from typing import Any

from serifos.database import connection
from serifos.database import journal
from serifos.database import plans
from serifos import errors
from tests.testbed import layout
from tests.testbed import testbed

PYTHON = layout.ROOT / '.venv' / 'bin' / 'python'
"""Of the project's own environment, which sees the packages that fit."""

RUNS = ('--runs', '12', '--runtime', '2', '--counts', '1,2',
        '--block-kibs', '4,16,64', '--iodepths', '1,4,8', '--lv-size-gib',
        '0.25', '--precondition', 'skip')
"""Of a model that is good enough here: the emulated SSD is a queue."""

_BUILD = """\
set -e
rm -rf /tmp/models && mkdir /tmp/models && cd /tmp/models
# Where the machine is too busy for a run, the same command resumes.
for _ in 1 2 3; do
    {python} -m serifos.cmd.model build {group} --name {name} {runs} \\
        --yes-destroy $(vgs --noheadings -o vg_uuid {group} | xargs) >&2 &&
        break
done
cat {name}.json
"""


class Balancer:
    """serifos-balancer and serifos-model, in the testbed's network.

    :param cinder: options of [cinder]; the one without Keystone by default
    """

    def __init__(self, on: testbed.Testbed,
                 cinder: Mapping[str, object] | None = None) -> None:
        self._testbed = on
        url, project = on.endpoint
        self._cinder = cinder or {
            'noauth_endpoint': url, 'noauth_project_id': project}
        self.state = on.layout.serifos
        self.models = self.state / 'models'
        self.file = self.state / 'serifos.conf'

    def configure(self, **balancer: object) -> None:
        """Writes serifos.conf; the options go to [balancer]."""
        endpoints = ','.join(f'{host.name}:{host.exporter}'
                             for host in self._testbed.hosts)
        said = {'settle': 0, 'hold': 1, 'poll_interval': 1, **balancer}
        self.file.write_text('\n'.join([
            '[serifos]', f'state_dir = {self.state}',
            f'models_dir = {self.models}',
            '[cinder]',
            *(f'{name} = {value}' for name, value in self._cinder.items()),
            '[telemetry]', f'endpoints = {endpoints}', 'window = 30',
            'interval = 10', '[balancer]',
            *(f'{name} = {value}' for name, value in said.items()), '']))

    def start(self, *arguments: object, program: str = 'balancer',
              **options: Any) -> subprocess.Popen:
        """serifos-balancer, or another program, with these arguments."""
        return self._testbed.in_network(
            [PYTHON, '-m', f'serifos.cmd.{program}', '--config-file',
             self.file, *arguments], text=True, cwd=layout.ROOT,
            **{'stdin': subprocess.DEVNULL, 'stdout': subprocess.PIPE,
               'stderr': subprocess.PIPE, **options})

    def run(self, *arguments: object,
            seconds: float = 3600) -> tuple[int, str, str]:
        """(exit code, stdout, stderr) of serifos-balancer.

        That pools do not fit their models counts as 0: on a busy machine an
        emulated SSD may well be slower.
        """
        process = self.start(*arguments)
        out, err = process.communicate(timeout=seconds)
        code = process.returncode
        return 0 if code == errors.UNEXPLAINED else code, out, err

    def checked(self) -> tuple[int, dict[str, tuple[int, str | None]]]:
        """(exit code, check → (result, details)) of serifos-status."""
        process = self.start(
            '--cinder-conf', self._testbed.layout.control / 'scheduler.conf',
            'upgrade', 'check', '--json', program='status')
        out, err = process.communicate(timeout=300)
        if err:
            raise layout.TestbedError(f'serifos-status: {err[-500:]}')
        return process.returncode, {
            check['check']: (check['result'], check['details'])
            for check in json.loads(out)['checks']}

    def plan(self) -> dict | None:
        """The newest plan that is kept, None where there is none."""
        found = plans.Plans(self._database).every(print)
        newest = max(found, key=lambda plan: plan.created_at, default=None)
        return newest and newest.to_json()

    def journal(self) -> list[dict]:
        kept = journal.Journal(self._database, time.time)
        return [entry.to_json() for entry in kept.entries()]

    @property
    def _database(self) -> connection.Database:
        return connection.Database(f'sqlite:///{self.state}/journal.sqlite')

    def cluster(self) -> dict:
        return json.loads((self.state / 'cluster.json').read_text())

    def forget(self) -> None:
        """Plans, journal and observation are gone; models stay.

        And what remembers the journal beside its lock: one that is gone
        without a word is not led on.
        """
        for path in [*self.state.glob('*.json*'),
                     *self.state.glob('*.sqlite*'),
                     *self.state.glob('lock/*.json')]:
            path.unlink()

    def assume_models(self) -> None:
        """Models as the emulated SSDs are, which takes no time.

        Measured ones, as in the story, would be as good where the machine
        has nothing else to do; to measure twenty workloads at once it would
        need more processors than it has.
        """
        self.models.mkdir(exist_ok=True)
        for host in self._testbed.hosts:
            self._path(host).write_text(json.dumps(_assumed(host)))

    def build_models(self, hosts: Sequence[layout.Host]) -> dict[str, dict]:
        """Host → its model, by serifos-model build on its volume group."""
        self.models.mkdir(exist_ok=True)
        # One host after another: the workloads of a run have to start and
        # end together, for which two cores are too few for several hosts.
        return {host.name: self._build(host) for host in hosts}

    def _build(self, host: layout.Host) -> dict:
        status, said = self._testbed.on(host.name, _BUILD.format(
            python=f'PYTHONPATH={layout.ROOT} {PYTHON}', name=host.name,
            group=layout.BACKEND, runs=' '.join(RUNS)), timeout=600)
        begin = said.find('\n{')
        if status or begin < 0:
            raise layout.TestbedError(
                f'no model of {host.name}: {said.strip()[-500:]}')
        model = json.loads(said[begin:])
        self._path(host).write_text(json.dumps(model, indent=1))
        return model

    def _path(self, host: layout.Host) -> pathlib.Path:
        return self.models / f'{host.name}.json'


def _assumed(host: layout.Host) -> dict:
    """The bytes outstanding over the bandwidth."""
    return {
        'schema': 'serifos-model/1', 'kind': 'outstanding',
        'name': host.name, 'predicts': 'latency_us',
        'range': {'write_pct': [0, 100], 'block_kib': [4, 128],
                  'iodepth': [1, 8], 'count': [1, 64]},
        'quality': {'mre': 0.1, 'interval': [-0.2, 0.2]},
        'parameters': {'intercept_us': 100,
                       'sum_q_s_r': 1024 / host.read_mbs,
                       'sum_q_s_w': 1024 / host.write_mbs}}
