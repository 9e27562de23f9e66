# SPDX-License-Identifier: Apache-2.0
"""Names in the contributor pages exist in the tree."""

import importlib
import pathlib
import re

import ddt
import testtools

ROOT = pathlib.Path(__file__).parents[2]
PAGES = [ROOT / 'CONTRIBUTING.rst',
         *sorted((ROOT / 'doc/source/contributor').glob('*.rst'))]


def _literals(page, pattern):
    return [each for each in re.findall(r'``([^`]+)``', page.read_text())
            if re.fullmatch(pattern, each)]


def _found(name):
    """Whether a dotted name is a module, or something in one."""
    module, _, last = name.rpartition('.')
    try:
        importlib.import_module(name)
    except ImportError:
        return bool(module) and hasattr(
            importlib.import_module(module), last)
    return True


@ddt.ddt
class ContributorPagesTest(testtools.TestCase):

    @ddt.named_data(*((page.stem, page) for page in PAGES))
    def test_paths(self, page):
        for name in _literals(page, r'[a-z_]+(/[a-z_.0-9-]+)+'):
            self.assertTrue(
                any((root / name).exists() for root in
                    (ROOT, ROOT / 'serifos')), f'{page.name}: {name}')

    @ddt.named_data(*((page.stem, page) for page in PAGES))
    def test_dotted_names(self, page):
        for name in _literals(page, r'serifos(\.\w+)+'):
            if name not in ('serifos.conf', 'serifos.planners',
                            'serifos.kinds', 'serifos.telemetry',
                            'serifos.sim'):
                self.assertTrue(_found(name), f'{page.name}: {name}')

    @ddt.named_data(*((page.stem, page) for page in PAGES))
    def test_classes_and_functions(self, page):
        tree = '\n'.join(path.read_text() for path in (
            ROOT / 'serifos').rglob('*.py'))
        for name in _literals(page, r'[A-Z][a-z]+[A-Za-z]*|\w+\.\w+\(.*\)'):
            name = name.partition('(')[0].rpartition('.')[2]
            self.assertRegex(tree, rf'(class|def) {name}\b',
                             f'{page.name}: {name}')
