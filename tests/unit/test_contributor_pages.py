# SPDX-License-Identifier: Apache-2.0
"""Names in the contributor pages exist in the tree, as they are written."""

import ast
import fnmatch
import functools
import importlib
import importlib.util
import pathlib
import re

import ddt
import testtools

from tests.unit import test_import_law as law

ROOT = pathlib.Path(__file__).parents[2]
PAGES = [ROOT / 'CONTRIBUTING.rst',
         *sorted((ROOT / 'doc/source/contributor').glob('*.rst'))]

PACKAGE_ROW = re.compile(r'   \* - ?(\d?)\n     - ``(\w+)``\n')
LITERAL = re.compile(r'(?<![`\w])``([^`]+)``')
SIGNATURE = re.compile(r'(?m)^ +def (\w+\([^)]*)')
CALLED = re.compile(r'([\w.]+)(?:\(([^)]*)\)?)?')

FILES = ('cluster.json', 'pools.json', 'serifos.conf', 'models/*.json',
         '~/.cache/*', '.fuzz/*', '.venv', '.testbed', '.testbed-nova',
         '.ci/run')
"""What is made, or is not in every checkout."""

PLACES = (ROOT, ROOT / 'serifos', ROOT / 'tests/functional',
          ROOT / 'serifos/lab/coverage')
"""Where the path of a page may begin."""

COMMANDS = {'git', 'nice', 'pip', 'reno', 'time', 'tox', 'serifos-model',
            'serifos-balancer', 'serifos-sim', 'serifos-status'}
"""Programs; test_documented_commands has the verbs of serifos."""

GROUPS = {'serifos.kinds', 'serifos.planners', 'serifos.telemetry',
          'serifos.sim', 'serifos.model', 'serifos.balancer'}
"""Groups of entry points."""

PLAIN = {'1e308', '-1', 'nan', 'inf', '29', 'np', 'module:function', 'origin',
         'main', '-f json', '[entry_points]', 'CI=true', 'py3-cinder27',
         '--planner hottest', '[balancer] planner = hottest'}
"""Values, a branch, an option of cliff, and those that an example gives."""


def literals(page):
    text = page.read_text()
    return {' '.join(each.split())
            for pattern in (LITERAL, SIGNATURE)
            for each in pattern.findall(text)}


@functools.cache
def trees():
    """The module of each file under serifos and tests, and its syntax."""
    return {'.'.join(path.relative_to(ROOT).with_suffix('').parts)
            .removesuffix('.__init__'): ast.parse(path.read_text())
            for top in ('serifos', 'tests')
            for path in (ROOT / top).rglob('*.py')}


def members(body):
    """(name, its definition) of what a module or a class has."""
    for each in body:
        if isinstance(each, (ast.FunctionDef, ast.ClassDef)):
            yield each.name, each
        elif isinstance(each, ast.Assign):
            yield from ((target.id, each) for target in each.targets
                        if isinstance(target, ast.Name))
        elif isinstance(each, ast.AnnAssign):
            yield ast.unparse(each.target), each


@functools.cache
def defined():
    """By each full name its definition; of members also by an instance."""
    found = {}
    for module, tree in trees().items():
        found[module] = tree
        for name, what in members(tree.body):
            found[f'{module}.{name}'] = what
            if isinstance(what, ast.ClassDef):
                for member, its in members(what.body):
                    found[f'{module}.{name}.{member}'] = its
                    found[f'{module}.{name.lower()}.{member}'] = its
    return found


@functools.cache
def ends():
    """Definitions by each part of their names that ends where they do."""
    found = {}
    for name, what in defined().items():
        parts = name.split('.')
        for at in range(len(parts)):
            found.setdefault('.'.join(parts[at:]), []).append(what)
    return found


@functools.cache
def words():
    """Names of arguments, options, verbs, rooms and parts of tools/test."""
    found = set()
    for name in ('tox.ini', 'setup.cfg', 'tools/test', '.zuul.yaml'):
        found |= set(re.findall(r'[\w-]+', (ROOT / name).read_text()))
    found |= {each.replace('_', '-') for each in found}
    for module, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.arg):
                found.add(node.arg)
            elif (module.startswith('serifos.conf.')
                  and isinstance(node, ast.Constant)):
                found.add(node.value)
    return found


def takes(what, given):
    """Whether a definition is a function with these arguments first."""
    if not isinstance(what, ast.FunctionDef):
        return False
    names = [each.arg for each in what.args.args if each.arg != 'self']
    asked = re.findall(r'\w+', given)
    return names[:len(asked)] == asked


def importable(name):
    """Whether this is a module of another project, or something in one."""
    module, _, last = name.rpartition('.')
    if not module:
        return importlib.util.find_spec(name) is not None
    return (importlib.util.find_spec(name.partition('.')[0]) is not None
            and hasattr(importlib.import_module(module), last))


def is_path(text):
    """Whether this is a file, a folder or a pattern of them."""
    return (any(fnmatch.fnmatch(text, each) for each in FILES)
            or any(list(place.glob(text.replace('TARGET', '*')))
                   for place in PLACES))


def exists(text):
    """Whether a literal names something that is there, with its arguments."""
    first = text.split()[0]
    if (text in PLAIN | GROUPS | words() or first in COMMANDS
            or is_path(first)):
        return True
    called = CALLED.fullmatch(text)
    if not called:
        return False
    name, given = called.groups()
    found = ends().get(name, [])
    if given is not None:
        return any(takes(each, given.partition('=')[0]) for each in found)
    return bool(found) or importable(name)


@ddt.ddt
class ContributorPagesTest(testtools.TestCase):

    @ddt.named_data(*((page.stem, page) for page in PAGES))
    def test_what_a_page_names_exists(self, page):
        self.assertEqual([], sorted(
            text for text in literals(page) if not exists(text)))

    @ddt.data('telemetry.Telemetry', 'plan/no_such.py', 'Telemetrie',
              'hot.is_hot(volumes, state)', 'state.State.before',
              'serifos.plan.hottest', 'tests.unit.nothing')
    def test_what_is_not_there_is_noticed(self, text):
        self.assertFalse(exists(text))

    def test_the_packages_are_those_of_the_import_law(self):
        packages = PACKAGE_ROW.findall(
            (ROOT / 'doc/source/contributor/architecture.rst').read_text())
        self.assertEqual(
            sorted([('', law.CONF), *((str(layer), name)
                    for layer, its in enumerate(law.LAYERS)
                    for name in its)]), sorted(packages))
