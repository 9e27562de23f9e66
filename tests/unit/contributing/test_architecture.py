# SPDX-License-Identifier: Apache-2.0
"""The contributor's guide against the tree that it describes."""

import pathlib
import re

import testtools

from tests.unit import test_import_law as law

ROOT = pathlib.Path(__file__).parents[3]
PAGES = ROOT / 'doc' / 'source' / 'contributor'

ROW = re.compile(r'   \* - ?(\d?)\n     - ``(\w+)``\n')
FILE = re.compile(r'``([a-z_]+(?:/[a-z_]+)+\.py)``')


class ArchitectureTest(testtools.TestCase):

    def test_the_packages_are_those_of_the_import_law(self):
        packages = ROW.findall((PAGES / 'architecture.rst').read_text())
        self.assertEqual(
            sorted([('', law.CONF), *((str(layer), name)
                    for layer, its in enumerate(law.LAYERS)
                    for name in its)]), sorted(packages))

    def test_every_module_that_is_named_is_there(self):
        for page in PAGES.glob('*.rst'):
            for name in FILE.findall(page.read_text()):
                top = ROOT if name.startswith('tests/') else law.PACKAGE
                self.assertTrue((top / name).exists(), f'{page}: {name}')
