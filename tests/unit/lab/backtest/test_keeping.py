# SPDX-License-Identifier: Apache-2.0
"""A history that is kept for serifos-balancer, and what that shows of it."""

import os
import pathlib
import re

import fixtures
import numpy as np

from serifos.database import connection
from serifos.database import history_store
from serifos import errors
from serifos.facts import activity
from serifos.lab.backtest import keeping
from serifos.lab.backtest.rates import Rates
from serifos.lab.backtest import weeks
from tests.unit import case
from tests.unit.cmd import command

PAGE = pathlib.Path(__file__).parents[4] / 'doc/source/admin/history.rst'


class KeepingTest(case.DirectoryCase):

    def read(self, series, step_s):
        kept = history_store.Store(connection.Database(
            f'sqlite:///{self.dir}/new/history.sqlite', {},
            connection.HISTORY))
        return kept.read([activity.MeasuredVolume(volume, volume, '')
                          for volume in series.volumes], series.begin,
                         series.begin + series.slots * series.step_s, step_s)

    def test_rates_are_those_that_were_drawn(self):
        series, _ = weeks.drawn(weeks.Week(3, 2, 1800, 5))
        series.values[1, 3:5] = np.nan
        series.values[2, 7] = 0
        path = keeping.keep(series, self.dir / 'new', 4000)
        self.assertEqual(self.dir / 'new' / 'history.sqlite', path)
        hours = Rates(series.begin, 3600, series.volumes,
                      series.values.reshape(3, 48, 2, -1))
        found = self.read(series, 3600)
        seen = ~np.isnan(hours.values[..., 0])
        np.testing.assert_array_equal(1800 * seen.sum(2).T, found.seconds)
        for column, rate in enumerate((
                found.read_iops, found.write_iops,
                found.read_kib_s + found.write_kib_s)):
            np.testing.assert_allclose(
                np.nanmean(hours.values[..., column], axis=2).T, rate,
                rtol=1e-5)
        busy = found.iops > 0
        np.testing.assert_allclose(4000, found.latency_us[busy], rtol=1e-5)

    def test_what_is_there_is_left_alone(self):
        series, _ = weeks.drawn(weeks.Week(1, 1, 1800, 5))
        path = keeping.keep(series, self.dir, 1000)
        before = path.read_bytes()
        error = self.assertRaises(errors.InputError, keeping.keep, series,
                                  self.dir, 1000)
        self.assertIn('is a history already', str(error))
        self.assertEqual(before, path.read_bytes())

    def test_where_there_can_be_no_directory(self):
        (self.dir / 'file').write_text('')
        code, out, err = command.simulate(
            'week', '--volumes', 1, '--days', 1, '--step', 1800, '--keep',
            self.dir / 'file' / 'x')
        self.assertEqual((2, ''), (code, out))
        self.assertIn('cannot be made: Not a directory', err)

    def test_a_latency_that_is_none(self):
        code, out, err = command.simulate('week', '--latency', 0)
        self.assertEqual((2, '', 1), (code, out, err.count('\n')))
        self.assertIn('--latency', err)

    def test_what_the_page_shows(self):
        week, variable, shown = re.search(
            r'\$ serifos-sim (week .*--keep .*)\n *\$ export (.*)\n'
            r' *\$ serifos-balancer (history (?:.*\n)*?)\n',
            PAGE.read_text()).groups()
        ask, *table = shown.splitlines()
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.dir)
        self.useFixture(fixtures.EnvironmentVariable(*variable.split('=')))
        code, _, err = command.simulate(*week.split())
        self.assertEqual(0, code, err)
        self.assertEqual((0, [line.strip() for line in table], ''), (
            lambda code, out, err: (code, out.splitlines(), err))(
                *command.balance(*ask.split())))
        self.assertGreater(len(table), 6)
