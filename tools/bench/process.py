# SPDX-License-Identifier: Apache-2.0
"""Section ``process``: CPU seconds and memory of whole commands."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import clusters
import plans

from serifos.database import connection
from serifos.database.plans import Plans
from serifos.facts.cluster import Cluster
from serifos.facts import times
from serifos.files import documents

SIZES = ((1_000, 20), (10_000, 200), (100_000, 1_000))
"""Volumes and pools."""

MODELS = ('s3500', 's3610')
STORED, ROUNDS = 1_000, 5
BESIDE = "python -c 'import numpy'"
BALANCER = 'serifos.cmd.balancer'

_MEASURE = """
import os, sys
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[
    (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
_, status, used = os.wait4(child, 0)
print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
sys.exit(os.waitstatus_to_exitcode(status))
"""
"""A process of its own, as one counts the memory of that which began it."""


def lines(quick: bool) -> Iterator[str]:
    """The table, a line at a time."""
    with tempfile.TemporaryDirectory(dir='/var/tmp') as directory:
        cases = _cases(pathlib.Path(directory), quick)
        found: dict[str, list[tuple[float, float]]] = {}
        for _ in range(1 if quick else ROUNDS):  # one after the other
            for name, command in cases.items():
                found.setdefault(name, []).append(run(command))
    median = {name: statistics.median(cpu_s for cpu_s, _ in each)
              for name, each in found.items()}
    yield f'{"command":55} {"CPU, s":>7} {"to numpy":>9} {"MiB":>5}'
    for name, cpu_s in median.items():
        mib = max(mib for _, mib in found[name])
        yield (f'{name:55} {cpu_s:7.2f} {cpu_s / median[BESIDE]:9.1f} '
               f'{mib:5.0f}')


def _cases(directory: pathlib.Path,
           quick: bool) -> dict[str, Sequence[str]]:
    """The commands by what the table calls them."""
    python = sys.executable
    here, many = directory / 'none', directory / 'many'
    models, sizes = directory / 'models', SIZES[:1] if quick else SIZES
    for made in here, many, models:
        made.mkdir()
        (made / 'serifos.conf').write_text(
            f'[serifos]\nstate_dir = {made}\nmodels_dir = {models}\n')
    for name, model in zip(MODELS, clusters.models(), strict=True):
        documents.write_model(models / f'{name}.json', model)
    stored = 20 if quick else STORED
    _store(many, stored)

    def balancer(state: pathlib.Path, *verb: str) -> list[str]:
        return [python, '-m', BALANCER, '--config-file',
                str(state / 'serifos.conf'), *verb]
    found = {'python -c pass': [python, '-c', 'pass'],
             BESIDE: [python, '-c', 'import numpy']}
    other = shutil.which('openstack')
    if other is not None:
        found['openstack --help'] = [other, '--help']
    found |= {
        'serifos-balancer --help': balancer(here, '--help'),
        'serifos-model --help': [python, '-m', 'serifos.cmd.model', '--help'],
        'serifos-balancer status --help': balancer(here, 'status', '--help'),
        'serifos-balancer status': balancer(here, 'status'),
        f'serifos-balancer plans, {stored:,} stored': balancer(many, 'plans')}
    for volumes, pools in sizes:
        path = directory / f'{volumes}.json'
        documents.write_cluster(path, _cluster(volumes, pools))
        for name, state in ('', here), (', with a journal', many):
            found[f'serifos-balancer plan, {volumes:,} x {pools:,}{name}'] = (
                balancer(state, 'plan', '--cluster', str(path)))
    return found


def _store(directory: pathlib.Path, number: int) -> None:
    """Plans of 40 pools and 400 volumes, as the section ``plans`` has them."""
    stored = Plans(connection.Database(
        f'sqlite:///{directory}/journal.sqlite'))
    for seed in range(number):
        stored.keep(plans.made(*plans.SIZES[0], seed), plans.NOW, print)


def _cluster(volumes: int, pools: int) -> Cluster:
    return dataclasses.replace(
        clusters.make_cluster(volumes, pools, seed=0, blur=True),
        observed_at=times.text(time.time()))


def run(command: Sequence[str]) -> tuple[float, float]:
    """CPU seconds and the most MiB of a command, which may not fail."""
    said = subprocess.run([sys.executable, '-c', _MEASURE, *command],
                          check=True, capture_output=True, text=True)
    cpu_s, mib = said.stdout.split()
    return float(cpu_s), float(mib)
