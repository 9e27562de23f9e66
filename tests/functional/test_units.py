# SPDX-License-Identifier: Apache-2.0
"""The shipped systemd units, by systemd's own tool."""

import pathlib
import subprocess
import sys

from tests.functional import machine

UNITS = pathlib.Path(__file__).parents[2] / 'etc' / 'serifos' / 'systemd'
PROGRAM = '/usr/local/bin/serifos-balancer'


class UnitsTest(machine.MachineTest):

    programs = ('systemd-analyze',)

    def test_units(self):
        here = pathlib.Path(sys.executable).parent / 'serifos-balancer'
        units = []
        for unit in UNITS.glob('*.service'):
            text = unit.read_text()
            self.assertIn(f'ExecStart={PROGRAM} ', text)
            units.append(self.directory / unit.name)
            units[-1].write_text(text.replace(PROGRAM, str(here)))
        done = subprocess.run(
            [machine.which('systemd-analyze'), 'verify', '--man=no', *units],
            capture_output=True, text=True, timeout=300)
        said = [line for line in done.stderr.splitlines()
                if str(self.directory) in line or any(
                    unit.name in line for unit in units)]
        self.assertEqual((0, []), (done.returncode, said), done.stderr)
        self.assertEqual(2, len(units))
