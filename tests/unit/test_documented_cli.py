# SPDX-License-Identifier: Apache-2.0
"""Each program has a page that is generated, and so a manual page."""

import configparser
import pathlib

import testtools

ROOT = pathlib.Path(__file__).parents[2]
CLI = ROOT / 'doc/source/cli'


class DocumentedProgramsTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        setup = configparser.ConfigParser()
        setup.read(ROOT / 'setup.cfg')
        self.programs = [
            line.partition('=')[0].strip() for line in setup['entry_points'][
                'console_scripts'].strip().splitlines()]

    def test_each_has_a_page_that_is_generated(self):
        self.assertEqual(
            sorted(self.programs),
            sorted(path.stem for path in CLI.glob('serifos-*.rst')))
        for name in self.programs:
            self.assertRegex(
                (CLI / f'{name}.rst').read_text(),
                rf'(?m)^\.\. serifos-(commands|help):: {name}$')

    def test_each_has_a_manual_page(self):
        said = (CLI.parent / 'conf.py').read_text()
        for name in self.programs:
            self.assertIn(f"('{name}', '", said)
