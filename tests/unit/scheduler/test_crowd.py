# SPDX-License-Identifier: Apache-2.0
"""The plugin under green and under native threads, each in its process."""

import pathlib
import subprocess
import sys

import ddt
import testtools

from tests.unit import case
from tests.unit.scheduler import cloud  # noqa: F401 - skips without Cinder

ROOT = pathlib.Path(__file__).parents[3]


@ddt.ddt
class CrowdTest(testtools.TestCase):

    @ddt.data('eventlet', 'native')
    def test_many_at_once(self, mode):
        done = subprocess.run(
            [sys.executable, '-W', 'ignore', '-m',
             'tests.unit.scheduler.crowd', mode],
            cwd=ROOT, capture_output=True, text=True,
            timeout=case.PATIENCE_S)
        self.assertEqual(f'{mode}: 360 requests, 0 wrong\n', done.stdout,
                         done.stderr[-3000:])
        self.assertNotIn('Traceback', done.stderr)

    def test_it_brings_neither_numpy_nor_eventlet(self):
        code = ('import sys\n'
                'import serifos.scheduler.judge\n'
                'print([m for m in ("numpy", "scipy", "pandas", "eventlet",'
                ' "statsmodels", "cinder") if m in sys.modules])')
        done = subprocess.run([sys.executable, '-c', code], cwd=ROOT,
                              capture_output=True, text=True, check=True)
        self.assertEqual('[]\n', done.stdout)
