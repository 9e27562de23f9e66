# SPDX-License-Identifier: Apache-2.0
"""serifos-balancer history VOLUME: what it prints, and what it refuses."""

import json
import time

import ddt
import fixtures

from serifos.cmd.balancer import adapters
from serifos.cmd.balancer import stored_history
from serifos import conf
from serifos.facts.inventory import Inventory
from serifos.facts.inventory import Record
from serifos.facts import pool_errors
from serifos.facts import times
from serifos.lab.backtest import csv_history
from tests.fakes import prometheus as fake
from tests.unit import case
from tests.unit.cmd import command
from tests.unit.database import history_behaviour
from tests.unit.telemetry import readings

NONE = {'at': None, 'seconds': 0.0, 'read_iops': None, 'write_iops': None,
        'read_kib_s': None, 'write_kib_s': None, 'latency_us': None,
        'outstanding': None}


class _Case(case.DirectoryCase):

    def setUp(self):
        super().setUp()
        self.file = self.dir / 'serifos.conf'
        self.file.write_text(
            f'[serifos]\nstate_dir = {self.dir}\nmodels_dir = {self.dir}\n'
            '[telemetry]\nendpoints = node1:http://node1:9100/metrics\n')
        self.end = int(time.time()) // 300 * 300

    def written(self, rounds=24, gap=0):
        """Volumes a and b over the last rounds of five minutes, a gap ago."""
        store = stored_history.store(conf.load([str(self.file)]))
        for nth in reversed(range(gap, gap + rounds)):
            self.assertTrue(store.add(
                history_behaviour.done('ab', self.end - 300 * (nth + 1)),
                store.until()))

    def history(self, *arguments):
        return command.balance('--config-file', self.file, 'history',
                               *arguments)


@ddt.ddt
class HistoryOfAVolumeTest(_Case):

    def slots(self, *arguments):
        code, out, err = self.history('-f', 'json', *arguments)
        self.assertEqual((0, ''), (code, err))
        return json.loads(out)

    def test_each_slot_is_a_line(self):
        self.written()
        code, out, err = self.history('b', '--days', '0.05')
        self.assertEqual((0, ''), (code, err))
        lines = out.splitlines()
        self.assertIn('b, slots of 300 s', lines[0])
        for word in ('slot', 'seen', 'reads/s', 'KiB written/s', 'ms',
                     'outstanding'):
            self.assertIn(word, out)
        busy = [line.split() for line in lines if '100 %' in line]
        self.assertIn(len(busy), range(13, 16))
        for _, seen, percent, *figures in busy:
            self.assertEqual([100, 100, 400, 400, 2, 0.4],
                             list(map(float, figures)))

    def test_json_has_a_document_for_each_slot(self):
        self.written(12)
        found = self.slots('a', '--days', '0.0625', '--step', '300')
        self.assertIn(len(found), range(18, 20))
        seen = [slot for slot in found if slot['seconds']]
        self.assertEqual(12, len(seen))
        for slot in seen:
            self.assertEqual(
                {'at': slot['at'], 'seconds': 300.0, 'read_iops': 50.0,
                 'write_iops': 50.0, 'read_kib_s': 200.0,
                 'write_kib_s': 200.0, 'latency_us': 2000.0,
                 'outstanding': 0.2}, slot)
        self.assertEqual([NONE | {'at': found[0]['at']}], found[:1])
        self.assertEqual(sorted(slot['at'] for slot in found),
                         [slot['at'] for slot in found])

    @ddt.data(((), 3600), (('--days', '0.5'), 300), (('--days', '2'), 3600),
              (('--step', '60', '--days', '0.1'), 60))
    @ddt.unpack
    def test_how_long_slots_are(self, arguments, step_s):
        self.written(12)
        code, out, err = self.history('a', *arguments)
        self.assertEqual((0, ''), (code, err))
        self.assertIn(f'slots of {step_s} s', out)

    def test_of_what_was_not_seen_one_line_is_printed(self):
        self.written(2, gap=6)
        _, out, _ = self.history('a', '--days', '0.05')
        slots = [line.split()[1:3] for line in out.splitlines()
                 if line.startswith('20')]
        self.assertEqual([['0', '%'], ['100', '%'], ['100', '%'],
                          ['0', '%']], slots)

    def test_a_volume_that_is_not_known(self):
        self.written()
        self.assertEqual(
            (0, 'Nothing is known of volume c in that time.\n', ''),
            self.history('c'))
        self.assertEqual({None}, {
            slot['read_iops'] for slot in self.slots('c')})

    def test_a_time_of_which_nothing_is_known(self):
        self.written(2, gap=24)
        self.assertIn('Nothing is known of volume a in that time',
                      self.history('a', '--days', '0.05')[1])
        self.assertIn('100 %', self.history('a', '--days', '0.1',
                                            '--step', '300')[1])

    def test_up_to_another_time_than_now(self):
        self.written(24)
        self.assertEqual([0, 300], [
            slot['seconds'] for slot in self.slots(
                'a', '--days', '0.0069444', '--step', '300', '--until',
                times.text(self.end - 23 * 300))][-2:])

    def test_no_exporter_has_to_be_known(self):
        self.written(24)
        self.file.write_text(f'[serifos]\nstate_dir = {self.dir}\n')
        self.assertIn('100 %', self.history('a')[1] + self.history(
            'a', '--days', '0.1')[1])

    def test_before_anything_was_written(self):
        code, out, err = self.history('a')
        self.assertEqual((0, ''), (code, err))
        self.assertIn(f'{self.dir}/history.sqlite', out)
        self.assertIn('serifos-balancer run', out)
        self.assertFalse((self.dir / 'history.sqlite').exists())

    @ddt.data(
        (('--days', '0'), '0 days in slots of 300 s cannot be shown'),
        (('--days', '-1'), '-1 days'), (('--days', 'nan'), 'nan days'),
        (('--days', 'inf'), 'inf days'), (('--days', '3661'), '3661 days'),
        (('--days', '3660', '--step', '60'), 'up to 3660 days and 100000'),
        (('--days', '0.01', '--step', '3600'), 'none longer than that time'),
        (('--step', '0'), 'in slots of 0 s'), (('--step', '-60'), '-60 s'),
        (('--step', '90'), 'a multiple of 60 s'),
        (('--until', 'noon'), '--until noon is not an ISO 8601 time'),
        (('--until', '2026-01-01', '--pools'), '--until ends the activity'),
        (('--volume', 'b'), '--volume selects migrations'))
    @ddt.unpack
    def test_what_cannot_be_shown(self, arguments, why):
        self.written(1)
        code, out, err = self.history('a', *arguments)
        self.assertEqual((2, '', 1), (code, out, err.count('\n')), err)
        self.assertIn(why, err)


@ddt.ddt
class HistoryOfAllVolumesTest(_Case):
    """What is written is what a backtest reads."""

    def setUp(self):
        super().setUp()
        self.out = self.dir / 'week.csv.gz'
        inventory = Inventory((), (), (
            Record('a', 10.0, 'available', pool='n@ssd#ssd'),
            Record('b', 20.0, 'available', pool='n@ssd#ssd'),
            Record('c', 30.0, 'available', pool='n@ssd#ssd'),
            Record('copy', 10.0, 'available', pool='m@ssd#ssd',
                   migration_status='target:a')))
        self.useFixture(fixtures.MonkeyPatch(
            'serifos.cmd.balancer.adapters.cinder', lambda *_: self))
        self.inventory = lambda: inventory

    @ddt.data('week.csv.gz', 'week.csv')
    def test_a_backtest_reads_it(self, name):
        self.written()
        self.assertEqual(
            (0, f'{self.dir / name} has 2 of 3 volumes; 48 of their 576 '
             'slots are known.\n', ''),
            self.history('--out', self.dir / name, '--days', '1'))
        found = csv_history.read(self.dir / name)
        self.assertEqual({'a': 10.0, 'b': 20.0}, found.size_gib)
        series = found.series
        self.assertEqual(('a', 'b'), tuple(sorted(series.volumes)))
        self.assertEqual((24, 300.0), (series.slots, series.step_s))
        self.assertEqual(self.end - 24 * 300, series.begin)
        by_name = dict(zip(series.volumes, series.values))
        for volume, iops in ('a', 50.0), ('b', 100.0):
            for slot in by_name[volume]:
                self.assertEqual([iops, iops, 8 * iops],
                                 [round(float(v), 2) for v in slot[:3]])

    def test_nothing_is_written_of_nothing(self):
        self.written(2, gap=24)
        self.out.write_text('before')
        code, out, err = self.history('--out', self.out, '--days', '0.05')
        self.assertEqual((2, ''), (code, out))
        self.assertIn('Nothing is known of any volume', err)
        self.assertEqual('before', self.out.read_text())

    def test_where_it_cannot_be_written(self):
        self.written(2)
        code, _, err = self.history('--out', self.dir / 'no' / 'week.csv')
        self.assertEqual(2, code)
        self.assertIn('cannot be written', err)

    def test_of_one_volume_nothing_is_written(self):
        code, _, err = self.history('a', '--out', self.out)
        self.assertEqual(2, code)
        self.assertIn('give no VOLUME and no --pools with it', err)


class HistoryOfASourceTest(case.DirectoryCase):
    """A Prometheus has the past; nothing of it is written here."""

    def setUp(self):
        super().setUp()
        now = time.time()
        server = fake.Prometheus(fake.Exporter(
            {'instance': 'node1:9100'}, range(int(now) - 7200, int(now), 15),
            lambda at: {'u': readings.steady(at - now + 9000)}))
        url = self.enterContext(readings.serving(server.answer))
        self.file = self.dir / 'serifos.conf'
        self.file.write_text(
            f'[serifos]\nstate_dir = {self.dir}\nmodels_dir = {self.dir}\n'
            f'[telemetry]\nsource = prometheus\nprometheus_url = {url}\n')
        inventory = Inventory((), (), (Record(
            'u', 1.0, 'available', pool='node1@ssd#ssd'),))
        self.useFixture(fixtures.MonkeyPatch(
            'serifos.cmd.balancer.adapters.cinder', lambda *_: self))
        self.inventory = lambda: inventory

    def test_the_past_is_read_from_it(self):
        code, out, err = command.balance(
            '--config-file', self.file, 'history', 'u', '--days', '0.05')
        self.assertEqual((0, ''), (code, err))
        busy = [line.split()[3:] for line in out.splitlines()
                if '100 %' in line]
        self.assertGreater(len(busy), 10)
        for reads, writes, *_, ms, outstanding in busy:
            for value, expected in ((reads, 750), (writes, 250), (ms, 2),
                                    (outstanding, 2)):
                self.assertAlmostEqual(expected, float(value), delta=0.01)
        self.assertFalse((self.dir / 'history.sqlite').exists())

    def test_a_volume_that_cinder_does_not_have(self):
        code, out, err = command.balance(
            '--config-file', self.file, 'history', 'x')
        self.assertEqual((2, ''), (code, out))
        self.assertIn('Cinder has no volume x', err)

    def test_nothing_is_recorded(self):
        said = conf.load([str(self.file)])
        self.assertIsNone(stored_history.recorder(
            said, adapters.telemetry(said)))


@ddt.ddt
class HistoryOfPoolsTest(_Case):
    """Pool a shows what is predicted, b twice that, for eight hours."""

    def kept(self, hours=8, rounds=4, b=(4000, 2000)):
        database = stored_history.accuracy(conf.load([str(self.file)])).kept
        last = int(time.time()) // pool_errors.HOUR_S * pool_errors.HOUR_S
        for nth in reversed(range(hours)):
            for _ in range(rounds):
                database.note({
                    'a@ssd#ssd': pool_errors.Check.of(1000, 1000, (-0.2, 0.3)),
                    'b@ssd#ssd': pool_errors.Check.of(*b, (-0.2, 0.3))},
                    last - nth * pool_errors.HOUR_S)

    def documents(self, *arguments):
        code, out, err = self.history('--pools', '-f', 'json', *arguments)
        self.assertEqual((0, ''), (code, err))
        return json.loads(out)

    def test_a_line_a_pool(self):
        self.kept()
        code, out, err = self.history('--pools')
        self.assertEqual((0, ''), (code, err))
        header, _, *rows = out.splitlines()[2:]
        for name in ('measured, ms', 'predicted, ms', 'error', 'outside'):
            self.assertIn(name, header)
        self.assertEqual(
            ['a', '8', '1', '1', '+0.0', '%', '0', '–'],
            rows[0].split())
        self.assertEqual(
            ['b', '8', '4', '2', '+100.0', '%', '8'],
            rows[1].split()[:7])
        self.assertTrue(rows[1].endswith(
            'its tenants see 2 times what its model predicts, for 8 hours '
            'now'), rows[1])

    def test_the_error_is_that_of_the_figures_beside_it(self):
        """However far off the rounds were that count little."""
        self.kept(b=(60_000, 46_000))
        self.kept(b=(6_600, 400))
        row = self.history('--pools')[1].splitlines()[-1].split()
        self.assertEqual(['33.3', '23.2', '+43.5', '%'], row[2:6])

    def test_a_line_an_hour_of_one(self):
        self.kept(3)
        code, out, err = self.history('--pools', 'b@ssd#ssd')
        self.assertEqual((0, ''), (code, err))
        title, _, _, *rows = out.splitlines()
        self.assertEqual('b@ssd#ssd: its tenants see 2 times what its '
                         'model predicts, for 3 hours now.', title)
        self.assertEqual([['4', '4', '2', '+100.0', '%', 'above']] * 3,
                         [row.split()[1:] for row in rows])
        self.assertIn('it does not drift',
                      self.history('--pools', 'a@ssd#ssd')[1])

    def test_json_has_the_hours_of_each(self):
        self.kept()
        a, b = self.documents()
        self.assertEqual(('a@ssd#ssd', None), (a['pool'], a['drifting']))
        self.assertEqual([(4, 4000.0, 2000.0, 1.0, 'above')] * 8, [
            tuple(hour.values())[1:] for hour in b['hours']])
        self.assertEqual([None] * 8, [hour['outside'] for hour in a['hours']])
        self.assertEqual([b], self.documents('b@ssd#ssd'))
        self.assertEqual([], self.documents('c@ssd#ssd'))

    def test_so_many_days_are_shown(self):
        """What is proved of a pool is so by the last day in any case."""
        self.kept(30)
        few, = self.documents('b@ssd#ssd', '--days', '0.1')
        self.assertIn(len(few['hours']), (3, 4))
        many, = self.documents('b@ssd#ssd', '--days', '2')
        self.assertEqual(30, len(many['hours']))
        self.assertEqual(few['drifting'], many['drifting'])

    def test_where_nothing_is_known(self):
        for arguments, said in (((), 'pools'), (('a@ssd#ssd',),
                                                'pool a@ssd#ssd')):
            code, out, err = self.history('--pools', *arguments)
            self.assertEqual((0, ''), (code, err))
            self.assertIn(f'Nothing is known of {said} in that time', out)
        self.assertFalse((self.dir / 'history.sqlite').exists())

    @ddt.data((('--volume', 'u'), 'no --volume'), (('--step', '300'),
                                                   'no --step'),
              (('--days', '0'), '0 days'), (('--days', '0.01'), '0.01 days'),
              (('--out', 'x.csv'), 'no --pools'))
    @ddt.unpack
    def test_what_cannot_be_shown(self, arguments, why):
        code, out, err = self.history('--pools', *arguments)
        self.assertEqual((2, '', 1), (code, out, err.count('\n')), err)
        self.assertIn(why, err)
