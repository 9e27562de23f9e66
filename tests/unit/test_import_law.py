# SPDX-License-Identifier: Apache-2.0
"""Every module imports only what its layer may.

The law is the data below; the walk reads each module's syntax tree, so an
import inside a function counts like any other.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
import pathlib
import subprocess
import sys

import ddt
import testtools

PACKAGE = pathlib.Path(__file__).parents[2] / 'serifos'

LAYERS = (
    {'errors', 'facts', 'plugins'},
    {'design', 'model', 'plan'},
    {'files', 'web', 'bench', 'cloud', 'database', 'telemetry'},
    {'balancer', 'modeler', 'report', 'scheduler'},
    {'cmd'},
    {'lab', 'watcher'},
)
"""The rooms of serifos. Imports point down only, so nothing imports lab or
watcher: what they have is found by entry points."""

SIDEWAYS = {0: LAYERS[0], 2: {'files', 'web'}}
"""Layer → its rooms that the others of that layer may import."""

CONF, CONF_READERS, CONF_READS = 'conf', (3, 4, 5), {'errors', 'plugins'}
"""Configuration: who reads it, and the rooms that it imports itself."""

ONLY_IN = {
    'cinder': ('serifos.scheduler',),
    'watcher': ('serifos.watcher',),
    'cinderclient': ('serifos.cloud',),
    'subprocess': ('serifos.bench',),
    'statsmodels': ('serifos.model.linear.ols',),
}
"""Package → the only modules or rooms that may import it."""

EDGES = {'os', 'pathlib', 'shutil', 'tempfile', 'socket', 'time', 'random',
         'urllib', 'http', 'requests', 'keystoneauth1', 'oslo_config'}
EDGES_FROM = 2
"""What reaches out of the process, and the first layer that may."""

CLOCKS = ('now', 'utcnow', 'today')
"""What asks datetime for the time."""


def within(module: str, room: str) -> bool:
    return module == room or module.startswith(f'{room}.')


def layer_of(room: str) -> int | None:
    return next((n for n, rooms in enumerate(LAYERS) if room in rooms), None)


def imports(module: str, is_package: bool, source: str) -> Iterator[str]:
    """The full dotted names that a module imports, wherever it does."""
    parts = module.split('.')
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            up = node.level - is_package
            above = parts[:len(parts) - up] if node.level else []
            stem = '.'.join([*above, *filter(None, [node.module])])
            yield from (f'{stem}.{alias.name}' for alias in node.names)
        elif (isinstance(node, ast.Call) and node.args
              and isinstance(node.args[0], ast.Constant)
              and ast.unparse(node.func).endswith(
                  ('import_module', '__import__'))):
            yield str(node.args[0].value)


def offence(module: str, imported: str) -> str | None:
    """Why a module may not import this, or None where it may."""
    for package, homes in ONLY_IN.items():
        if (within(imported, package)
                and not any(within(module, home) for home in homes)):
            return f'{package} is imported in {" and ".join(homes)} only'
    room = module.split('.')[1]
    layer = layer_of(room)
    if not within(imported, 'serifos'):
        if (layer is not None and layer < EDGES_FROM
                and imported.split('.')[0] in EDGES):
            return f'layer {layer} is pure and leaves that to layer 2'
        return None
    target = (imported.split('.') + [''])[1]
    if target == room:
        return None
    if target == CONF:
        return None if layer in CONF_READERS else (
            'conf is read from layer 3 up; take it as an argument')
    if room == CONF:
        return None if target in CONF_READS else (
            f'conf imports {" and ".join(sorted(CONF_READS))} only')
    below = layer_of(target)
    if below is None or layer is None:
        return f'{target or imported} is in no layer'
    if below < layer or target in SIDEWAYS.get(layer, ()):
        return None
    return ('imports point down only' if below > layer else
            f'rooms of layer {layer} do not import one another')


def offences(module: str, is_package: bool, source: str) -> list[str]:
    return [f'{module} imports {imported}: {why}'
            for imported in imports(module, is_package, source)
            if (why := offence(module, imported))]


def chance(module: str, source: str) -> list[str]:
    """Calls of a pure layer that read a clock or choose a seed."""
    layer = layer_of(module.split('.')[1])
    if layer is None or layer >= EDGES_FROM:
        return []
    calls = [node for node in ast.walk(ast.parse(source))
             if isinstance(node, ast.Call)
             and isinstance(node.func, ast.Attribute)]
    return [f'{module} calls {ast.unparse(call)}: seed and time are '
            'arguments' for call in calls
            if call.func.attr in CLOCKS
            or call.func.attr == 'default_rng' and all(
                isinstance(argument, ast.Constant)
                for argument in call.args)]


def short_names(source: str) -> list[str]:
    """Imports that are renamed to one or two letters, but for np."""
    return [f'{alias.name} as {alias.asname}'
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
            if len(alias.asname or 'long') < 3
            and (alias.name, alias.asname) != ('numpy', 'np')]


def modules() -> Iterator[tuple[str, bool, str]]:
    for path in sorted(PACKAGE.rglob('*.py')):
        parts = path.relative_to(PACKAGE.parent).with_suffix('').parts
        is_package = parts[-1] == '__init__'
        yield ('.'.join(parts[:-1] if is_package else parts), is_package,
               path.read_text(encoding='utf-8'))


class ImportLawTest(testtools.TestCase):

    def test_every_module_keeps_the_law(self):
        broken = [text for module, is_package, source in modules()
                  if module != 'serifos'
                  for text in offences(module, is_package, source)]
        self.assertEqual([], broken, '\n' + '\n'.join(broken))

    def test_pure_layers_read_no_clock_and_choose_no_seed(self):
        self.assertEqual([], [text for module, _, source in modules()
                              if module != 'serifos'
                              for text in chance(module, source)])

    def test_every_module_is_in_a_layer(self):
        known = set().union(*LAYERS, {CONF})
        strangers = [module for module, _, _ in modules()
                     if module != 'serifos'
                     and module.split('.')[1] not in known]
        self.assertEqual([], strangers, 'say in LAYERS where they belong')

    def test_no_circle(self):
        names = {module for module, _, _ in modules()}
        left: dict[str, set[str]] = {}
        for module, is_package, source in modules():
            found = set()
            for imported in imports(module, is_package, source):
                while imported and imported not in names:
                    imported = imported.rpartition('.')[0]
                found.add(imported)
            left[module] = found - {module, '', 'serifos'}
        while ready := {module for module, below in left.items()
                        if not below & left.keys()}:
            left = {module: below for module, below in left.items()
                    if module not in ready}
        self.assertEqual([], sorted(left), 'these import one another')

    def test_modules_are_imported_by_their_own_names(self):
        root = PACKAGE.parent
        self.assertEqual([], [
            f'{path.relative_to(root)}: {text}'
            for folder in ('serifos', 'tests', 'tools', 'doc')
            for path in sorted((root / folder).rglob('*.py'))
            for text in short_names(path.read_text(encoding='utf-8'))])

    def test_predicting_loads_no_numbers_library_and_no_study(self):
        unwanted = ('numpy', 'scipy', 'pandas', 'statsmodels', 'sklearn',
                    'serifos.lab.calibrate.network', 'serifos.lab.sim')
        loaded = subprocess.run(
            [sys.executable, '-c',
             'import sys, serifos.files.documents\n'
             'from serifos.model import kinds\n'
             'for name in kinds.names(): kinds.of(name)\n'
             f'print([m for m in {unwanted} if m in sys.modules])'],
            check=True, capture_output=True, text=True).stdout.strip()
        self.assertEqual('[]', loaded)


@ddt.ddt
class ImportLawTeethTest(testtools.TestCase):
    """The law bites on what breaks it, and on nothing else."""

    @ddt.data(
        ('serifos.facts.workload', 'from serifos.files import documents',
         'down only'),
        ('serifos.plan.bfd', 'from serifos.model import linear',
         'layer 1 do not import one another'),
        ('serifos.design.d_optimal', 'import serifos.plan.plan',
         'layer 1 do not import one another'),
        ('serifos.plan.bfd', 'from ..model import linear',
         'layer 1 do not import one another'),
        ('serifos.model.linear.ols', 'from serifos.report import page',
         'down only'),
        ('serifos.model.model', 'def f():\n    from serifos import files',
         'down only'),
        ('serifos.bench.fio', 'from serifos.cloud import client',
         'layer 2 do not import one another'),
        ('serifos.files.documents', 'from serifos import database',
         'layer 2 do not import one another'),
        ('serifos.files.documents', 'from serifos import conf',
         'conf is read from'),
        ('serifos.bench.lvm', 'import serifos.conf.balancer',
         'conf is read from'),
        ('serifos.conf', 'from serifos.files import jsonl', 'plugins only'),
        ('serifos.modeler.build', 'from serifos import balancer',
         'layer 3 do not import one another'),
        ('serifos.report.charts', 'from serifos.lab.sim import report',
         'down only'),
        ('serifos.cmd.app', 'import serifos.lab.tuning', 'down only'),
        ('serifos.modeler.build', 'from serifos.cmd import app', 'down only'),
        ('serifos.plan.bfd', 'import random', 'layer 1 is pure'),
        ('serifos.model.fit', 'from os import path', 'layer 1 is pure'),
        ('serifos.cmd.app', 'import subprocess', 'serifos.bench only'),
        ('serifos.cmd.app', 'import importlib\n'
         'importlib.import_module("subprocess")', 'serifos.bench only'),
        ('serifos.balancer', 'from cinder import volume',
         'serifos.scheduler only'),
        ('serifos.scheduler.weigher', 'from cinderclient import client',
         'serifos.cloud only'),
        ('serifos.model.linear.predict', 'import statsmodels.api',
         'serifos.model.linear.ols only'),
        ('serifos.cmd.app', 'from serifos import utils', 'in no layer'))
    @ddt.unpack
    def test_offence(self, module, source, why):
        found = offences(module, False, source)
        self.assertEqual(1, len(found), found)
        self.assertIn(why, found[0])

    @ddt.data('np.random.default_rng(0)', 'np.random.default_rng()',
              'datetime.datetime.now(datetime.UTC)', 'datetime.date.today()')
    def test_clock_or_seed(self, source):
        self.assertEqual(1, len(chance('serifos.model.linear.ols', source)))
        self.assertEqual([], chance('serifos.cmd.app', source))

    def test_seed_that_is_an_argument(self):
        self.assertEqual([], chance('serifos.model.linear.ols',
                                    'np.random.default_rng(seed)'))

    @ddt.data(
        ('serifos.facts.cluster', 'from serifos.facts import workload'),
        ('serifos.files.documents', 'from serifos.model import model'),
        ('serifos.modeler.campaign', 'from serifos.files import jsonl'),
        ('serifos.bench.fio', 'import subprocess'),
        ('serifos.model.linear.ols', 'from statsmodels.stats import anova'),
        ('serifos.model.linear.ols', 'from serifos.model import kinds'),
        ('serifos.model.linear.ols', 'from . import predict'),
        ('serifos.lab.sim.report', 'from serifos.report import page'),
        ('serifos.lab.tuning.tuning_command', 'from serifos.cmd import app'),
        ('serifos.conf', 'from serifos import errors'),
        ('serifos.scheduler.weigher', 'from cinder import scheduler'),
        ('serifos.cmd.model', 'from serifos import balancer, conf'))
    @ddt.unpack
    def test_no_offence(self, module, source):
        self.assertEqual([], offences(module, False, source))

    @ddt.data(('from serifos.plan import state as st', ['state as st']),
              ('import numpy as np', []), ('from serifos import errors', []))
    @ddt.unpack
    def test_short_name(self, source, found):
        self.assertEqual(found, short_names(source))
