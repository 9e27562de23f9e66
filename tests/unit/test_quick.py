# SPDX-License-Identifier: Apache-2.0
"""Unit tests that tools/test quick leaves out."""

import pathlib

import testtools

UNIT = pathlib.Path(__file__).parent


class SlowTest(testtools.TestCase):

    def test_every_module_is_there(self):
        lines = (UNIT / 'slow.txt').read_text().splitlines()
        for line in lines:
            if not line.startswith('#'):
                _, _, *names = line.removesuffix(r'\.').split('.')
                path = UNIT.joinpath(*names)
                self.assertTrue(
                    path.is_dir() or path.with_suffix('.py').exists(), line)
