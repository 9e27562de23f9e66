# SPDX-License-Identifier: Apache-2.0
"""The commands that README and the documentation show, parsed and run."""

import functools
import json
import os
import pathlib
import random
import re
import runpy
import shlex
import shutil

import ddt
import fixtures
import testtools

from serifos.cmd import app
from serifos import errors
from serifos.facts import dataset
from serifos.facts.workload import Workload
from tests.unit.cmd import command
from tests.unit import samples

ROOT = pathlib.Path(__file__).parents[3]
EXAMPLES = 'etc/serifos/examples'
DOCS = ROOT / 'doc' / 'source'
PAGES = ['README.rst', *sorted(str(path.relative_to(ROOT))
                               for path in DOCS.rglob('*.rst'))]

SHOWN = re.compile(r'^( +)\$ ((?:.*\\\n)*.*)\n((?:\1(?! *\$ ).*\n|\n)*)',
                   re.M)
"""Indentation, a command with its continued lines, what it prints."""

INLINE = re.compile(r'``(serifos-(?:model|balancer|sim) [a-z][^`]*)``')

PROGRAMS = {'serifos-model': command.model,
            'serifos-balancer': command.balance,
            'serifos-sim': command.simulate}

NOT_RUN = {'build': 'a device', 'study': 'a device', 'screen': 'a device',
           'measure-cached': 'a device',
           'observe': 'a cloud', 'run': 'a cloud', 'apply': 'a cloud',
           'evacuate': 'a cloud', 'recover': 'a cloud', 'reapply': 'a cloud',
           'history': 'a cloud', 'resume': 'a cloud', 'status': 'a cloud',
           'plans': 'a cloud', 'serve': 'for ever', 'approve': 'a cloud',
           'undo': 'a cloud', 'top': 'a cloud',
           'learn': 'a cloud', 'evaluate': 'an hour',
           'dataset': 'minutes', 'import': 'outputs of fio'}
"""Verbs that are only parsed here, and what running them would take."""

SHORTER = {'compare-kinds': (('--no-tune',), ('--kind', 'lrm')),
           'fit': (('--kind', 'outstanding'),),
           'calibrate': (('--stations', '1'),)}
"""Options of verbs that take long without them."""

SMALLER = {'tenant': ('--set', 'members=1'),
           'queueing': ('--set', 'stations=1')}
"""Settings of kinds whose fits take long without them."""

ONCE = {'calibrate', 'relate'}
"""Verbs that take long, of which a page's new options are run."""

LONGER = {'--tune'}
"""Options that take long, and are only parsed."""

FEWER = {('backtest', '--days'): '0.2'}
"""Values of options that take long with those that are shown."""

QUICKSTART = {
    'schema': 'serifos-model/1', 'kind': 'outstanding', 'name': 'quickstart',
    'predicts': 'latency_us', 'dataset': {'sha256': '0' * 64, 'runs': 30},
    'device': {'model': 'file on ext4 (/dev/vda)'},
    'range': {'write_pct': [0, 100], 'block_kib': [4, 256],
              'iodepth': [0.118022, 32], 'random_pct': [100, 100],
              'count': [1, 10]},
    'quality': {'mre': 0.219, 'why': 'On held-out runs', 'mre_by_count': {},
                'tenant_mre': 0.213, 'mre_by_kind': {},
                'adj_r2': {'any': 0.905},
                'interval': [-0.2539, 4.811]},
    'parameters': {'intercept_us': 86.302, 'sum_q_r': 5.7528,
                   'sum_q_w': 1.6694, 'sum_q_s_r': 0.43522,
                   'sum_q_s_w': 0.42916}}
"""The model that the pages show, by which they plan."""


def cheaper(words):
    """A command with which as much can be refused, and less is computed."""
    verb = words[0]
    words = [verb, *(FEWER.get((verb, before), word) for before, word
                     in zip(words, words[1:]))]
    return (*(word for word in words if word not in LONGER),
            *(word for option in SHORTER.get(verb, ())
              if option[0] not in words for word in option),
            *(word for kind, option in SMALLER.items()
              if verb == 'fit' and kind in words for word in option))


@functools.cache
def of(name):
    """A dataset of 20 runs on a device of this name, as the reader has."""
    rng = random.Random(0)
    factor = 1 + random.Random(name).random() / 50
    device = {'model': 'TEST', 'serial': 'S1',
              'size_gib': 400.0 if name == 'large' else 100.0}
    found, tails = [], {}
    for _ in range(20):
        run = tuple(Workload(
            float(rng.randrange(101)), float(rng.choice([4, 16, 64])),
            float(rng.randrange(1, 17)), 100.0)
            for _ in range(rng.randrange(1, 6)))
        us = factor * sum(
            20 + w.iodepth * (5 + w.block_kib * (2 + w.write_pct / 100))
            for w in run) * rng.uniform(0.95, 1.05)
        if name == 'nvme':
            tails = {'read_p99_us': 3 * us, 'write_p99_us': 2 * us}
        found.append(dataset.Sample(run, us, seen=tuple({
            **tails,
            'latency_us': us, 'read_latency_us': us, 'write_latency_us': us,
            'iops': 1e6 * w.iodepth / us,
            'read_iops': 1e4 * w.iodepth / us * (100 - w.write_pct),
            'write_iops': 1e4 * w.iodepth / us * w.write_pct} for w in run)))
    if name == 'repeated':
        found *= 2
    if name == 'distributed':
        found = [sample for sample in found if sample.count == 1]
    return dataset.Dataset(dataset.Header(device, runtime_s=15.0),
                           tuple(found))


def commands(page):
    """(command, what it is shown to print), in the order of the page."""
    for _, line, printed in SHOWN.findall((ROOT / page).read_text()):
        words = shlex.split(line.replace('\\\n', ' '), comments=True)
        yield words, printed


def as_shown(printed):
    """A pattern of what is shown, where a line ``...`` leaves lines out."""
    parts = re.split(r'(?m)^ *\.\.\.$', printed)
    return f"^{'.*'.join(re.escape(' '.join(p.split())) for p in parts)}$"


def fields(table):
    """The names in the first column."""
    return re.findall(r'(?m)^ *\| (\w[\w ]*?) +\|', table)


@ddt.ddt
class DocumentedCommandsTest(testtools.TestCase):
    """Each page in a directory of its own, with what its reader has."""

    def setUp(self):
        super().setUp()
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.useFixture(fixtures.TempDir()).path)
        shutil.copytree(ROOT / EXAMPLES, EXAMPLES)

    def provide(self, words):
        """The datasets that a command reads, and quickstart's results."""
        for word in words:
            path = pathlib.Path(word)
            if path.name == 'serifos.conf' and not path.exists():
                runpy.run_path(f'{EXAMPLES}/now.py')['main'](path.parent)
            if word.startswith('quickstart/models/') and (
                    not path.parent.exists()):
                path.parent.mkdir(parents=True)
                pathlib.Path('quickstart/models/quickstart.json').write_text(
                    json.dumps(QUICKSTART))
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix == '.jsonl' and not path.exists():
                samples.write(path, of(path.stem))

    def parser(self, program, verb):
        manager = app.App(program, '').command_manager
        factory, name, rest = manager.find_command([verb])
        self.assertEqual([], rest)
        return factory(app.App(program, ''), None).get_parser(name)

    @ddt.data(*PAGES)
    def test_what_a_page_shows(self, page):
        tried = {}
        for words, printed in commands(page):
            program, verb, *_ = *words, ''
            if program == 'cd':
                os.chdir(words[1])
            if program not in PROGRAMS:
                continue
            conf, words = [], words[1:]
            if verb == '--config-file':
                conf, words, verb = words[:2], words[2:], words[2]
            self.parser(program, verb).parse_args(words[1:])
            if verb in NOT_RUN and not conf:
                continue
            self.provide([*conf, *words])
            options = {word for word in words if word.startswith('-')}
            if verb in ONCE and verb in tried and options <= tried[verb]:
                continue
            tried[verb] = options | tried.get(verb, set())
            code, out, err = PROGRAMS[program](*conf, *cheaper(words))
            self.assertEqual(0, code, f'{words}: {err}')
            self.assertNotIn('no model', err)
            if not printed.strip():
                continue
            if verb in ('design', 'explain', 'plan', 'slo'):
                self.assertRegex(' '.join(out.split()), as_shown(printed))
            if verb == 'show':
                self.assertEqual(fields(printed), fields(out))

    @ddt.data(*PAGES)
    def test_what_a_page_mentions(self, page):
        for text in INLINE.findall((ROOT / page).read_text()):
            program, verb, *rest = text.split()
            parser = self.parser(program, verb)
            if any('.json' in word for word in rest):
                try:
                    parser.parse_args(rest)
                except SystemExit:  # would end the process of all tests
                    self.fail(f'{text} is refused')
            for word in rest:
                if word.startswith('-'):
                    self.assertIn(word, parser.format_help(), text)


class ExitCodesTest(testtools.TestCase):

    def test_every_exit_code_is_documented(self):
        page = (DOCS / 'cli/exit-codes.inc').read_text()
        kinds = [errors.SerifosError]
        for kind in kinds:
            kinds += kind.__subclasses__()
            self.assertRegex(page, rf'(?m)^{kind.exit_code}  +\S')
