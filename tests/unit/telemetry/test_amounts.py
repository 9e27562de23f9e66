# SPDX-License-Identifier: Apache-2.0
"""What volumes did in each slot, by readings of the hosts they were on."""

import dataclasses
import itertools

import ddt
import hypothesis
from hypothesis import strategies
import numpy as np
import testtools

from serifos.facts import activity
from serifos.facts import history
from serifos.telemetry import amounts
from serifos.telemetry.counters import Counters
from serifos.telemetry.counters import Reading
from tests.unit.telemetry.readings import place
from tests.unit.telemetry.readings import steady

BEGIN, END = 1_800_000_000, 1_800_000_600
LONGEST_S = amounts.longest_s(15)


def taken(volumes, times=None, clock=lambda at: at, booted=77.0):
    """Readings every 15 s, in each of which volumes(at) are seen."""
    times = range(BEGIN - 8, END + 22, 15) if times is None else times
    return [Reading(at, volumes(at), started=booted, clock=clock(at))
            for at in times]


def series(places, readings, begin=BEGIN, end=END, step_s=60):
    return amounts.series(places, readings, begin, end, step_s,
                          longest_s=LONGEST_S)


def seconds(found, column=0):
    return found.seconds[:, column].tolist()


def since(at, **others):
    """Counters of a volume that has been busy since then."""
    return steady(at - BEGIN + 1000, **others)


@ddt.ddt
class AmountsTest(testtools.TestCase):

    def test_a_steady_volume(self):
        found = series([place('a')], {'node1': taken(
            lambda at: {'a': since(at)})})
        self.assertEqual((('a',), BEGIN, END), (
            found.volumes, found.begin, found.end))
        self.assertEqual([60] * 10, seconds(found))
        for name, value in (('iops', 1000), ('write_pct', 25),
                            ('block_kib', 8), ('latency_us', 2000),
                            ('outstanding', 2)):
            np.testing.assert_allclose(
                np.full((10, 1), value), getattr(found, name), rtol=1e-5)

    def test_what_happens_between_readings_is_shared_by_seconds(self):
        found = series([place('a')], {'node1': taken(
            lambda at: {'a': since(at)}, [BEGIN + 50, BEGIN + 90])})
        self.assertEqual([10, 30, 0], seconds(found)[:3])
        np.testing.assert_allclose([7500, 22500, 0], found.sums[1, :3, 0])

    def test_what_was_before_and_comes_after_is_left_out(self):
        found = series([place('a')], {'node1': taken(
            lambda at: {'a': since(at)})}, BEGIN + 120, BEGIN + 240)
        self.assertEqual([60, 60], seconds(found))

    def test_gap(self):
        """An exporter that went and came: nobody knows when it was."""
        found = series([place('a')], {'node1': taken(
            lambda at: {'a': since(at)}, [
                *range(BEGIN, BEGIN + 121, 15),
                *range(BEGIN + 240, END + 1, 15)])})
        self.assertEqual([60, 60, 0, 0] + [60] * 6, seconds(found))
        self.assertTrue(np.isnan(found.iops[2:4]).all())

    def test_a_reading_that_failed_costs_nothing(self):
        readings = taken(lambda at: {'a': since(at)})
        readings[7:9] = [Reading(r.at, fault='busy')
                         for r in readings[7:9]]
        self.assertEqual([60] * 10, seconds(series(
            [place('a')], {'node1': readings})))

    def test_reset(self):
        """Counters that fell: that interval alone is unknown."""
        found = series([place('a'), place('b')], {'node1': taken(
            lambda at: {'a': steady(at - BEGIN + (
                9 if at > BEGIN + 90 else 1000)), 'b': since(at)},
            range(BEGIN, END + 1, 15))})
        self.assertEqual([60, 45] + [60] * 8, seconds(found))
        self.assertEqual([60] * 10, seconds(found, 1))
        np.testing.assert_allclose(1000, found.iops[:, 0], rtol=1e-5)

    def test_reboot_though_no_counter_fell(self):
        early, late = (taken(lambda at: {'a': steady(
            (at - BEGIN) * factor)}, times, booted=booted)
            for times, booted, factor in (
                (range(BEGIN, BEGIN + 91, 15), 77.0, 1),
                (range(BEGIN + 105, END + 1, 15), BEGIN + 95.0, 3)))
        self.assertEqual([60, 45] + [60] * 8, seconds(series(
            [place('a')], {'node1': early + late})))

    def test_new_and_deleted(self):
        """Known from its second reading on, until its last one."""
        found = series([place('a')], {'node1': taken(
            lambda at: {'a': since(at)}
            if BEGIN + 100 <= at <= BEGIN + 200 else {},
            range(BEGIN, END + 1, 10))})
        self.assertEqual([0, 20, 60, 20] + [0] * 6, seconds(found))

    @ddt.data(3600, -3600, 90, -90)
    def test_our_clock_is_set(self, ahead):
        """Nothing is counted twice, and no rate is wrong."""
        def stamped(at):
            return at if at < BEGIN + 300 else at + ahead
        readings = sorted(
            (dataclasses.replace(reading, at=float(stamped(reading.at)))
             for reading in taken(lambda at: {'a': since(at)})),
            key=lambda reading: reading.at)
        found = series([place('a')], {'node1': readings},
                       BEGIN - 4200, END + 4200)
        seen = found.seconds[:, 0]
        self.assertGreater(seen.sum(), 570 - 2 * abs(ahead) % 3600)
        self.assertLessEqual(seen.max(), 60)
        np.testing.assert_allclose(
            1000, found.iops[seen > 0], rtol=1e-5)

    def test_a_host_without_its_uptime_and_a_clock_that_is_set(self):
        readings = [Reading(at if at < BEGIN + 300 else at + 3600,
                            {'a': since(at)})
                    for at in range(BEGIN, END + 1, 15)]
        found = series([place('a')], {'node1': readings},
                       BEGIN, END + 3600)
        self.assertEqual(285 + 300, found.seconds.sum())
        np.testing.assert_allclose(
            1000, found.iops[found.seconds > 0], rtol=1e-5)

    def test_migrated(self):
        """Its history goes with it, and a copy's is not its own."""
        at_moved = BEGIN + 300

        def source(at):
            return {'a': since(at)} if at <= at_moved + 60 else {}

        def target(at):
            return {'copy' if at < at_moved else 'a': since(at, iops=500)}
        found = series([place('a', 'node2')], {
            'node1': taken(source), 'node2': taken(target)})
        self.assertEqual(60, found.seconds[0, 0])
        np.testing.assert_allclose(1000, found.iops[:5, 0], rtol=1e-5)
        np.testing.assert_allclose(500, found.iops[6:, 0], rtol=1e-5)

    def test_migrated_in_the_middle_of_a_slot(self):
        moved = BEGIN + 90
        found = series([place('a', 'node2')], {
            'node2': taken(lambda at: {'a': since(at)} if at >= moved else {},
                           range(BEGIN, END + 1, 15)),
            'node1': taken(lambda at: {'a': since(at)} if at <= moved else {},
                           range(BEGIN, END + 1, 15))})
        self.assertEqual([60] * 10, seconds(found))

    def test_what_was_left_elsewhere_is_not_the_volumes(self):
        """Nor where a slot is seen in part only; there and back again."""
        def here(at):
            away = BEGIN + 200 < at < BEGIN + 400
            return {} if away else {'a': since(at)}

        def there(at):
            return {'a': since(at, iops=7e5)} if at > BEGIN + 400 else {
                'a': since(at, iops=500)} if at > BEGIN + 200 else {}
        found = series([place('a')], {
            'node2': taken(there, range(BEGIN, END - 29, 10)),
            'node1': taken(here, range(BEGIN, END - 29, 10))})
        self.assertEqual([60] * 3 + [50] + [60] * 5 + [30],
                         seconds(found))
        np.testing.assert_allclose(
            [1000] * 3 + [700] + [500] * 2 + [2000 / 3] + [1000] * 3,
            found.iops[:, 0], rtol=1e-4)

    def test_migrated_in_use(self):
        """Its volume is in one that is named after the copy from now on."""
        moved = BEGIN + 300
        place = activity.MeasuredVolume('a', 'copy', 'node2@ssd#ssd', moved)
        found = series([place], {
            'node1': taken(lambda at: {'a': since(at)},
                           range(BEGIN, END + 1, 15)),
            'node2': taken(lambda at: {'copy': since(at, iops=500)},
                           range(BEGIN, END + 1, 15))})
        self.assertEqual([60] * 10, seconds(found))
        np.testing.assert_allclose(1000, found.iops[:5, 0], rtol=1e-5)
        np.testing.assert_allclose(500, found.iops[5:, 0], rtol=1e-5)

    @ddt.data(
        {'reads': 1e9 * 15 + 1e6}, {'read_bytes': 2.0 ** 60},
        {'write_s': 2e9})
    def test_counters_that_no_device_has(self, change):
        def volumes(at):
            counters = since(at)
            return {'a': counters if at < BEGIN + 60 else counters._replace(
                **{name: getattr(counters, name) + value
                   for name, value in change.items()})}
        found = series([place('a')], {'node1': taken(
            volumes, range(BEGIN, END + 1, 15))})
        self.assertEqual([45] + [60] * 9, seconds(found))

    def test_where_requests_are_not_timed(self):
        def untimed(at, **others):
            return since(at, **others)._replace(
                read_s=np.nan, write_s=np.nan)
        found = series([place('a'), place('b')], {'node1': taken(
            lambda at: {'a': untimed(at), 'b': untimed(BEGIN)})})
        np.testing.assert_allclose(1000, found.iops[:, 0], rtol=1e-5)
        self.assertTrue(np.isnan(found.outstanding[:, 0]).all())
        np.testing.assert_array_equal(0, found.outstanding[:, 1])

    @hypothesis.given(strategies.data())
    def test_all_that_the_counters_say_is_in_the_slots(self, data):
        """Over any readings, without a gap; and whatever the slots are."""
        pauses = data.draw(strategies.lists(strategies.floats(1, 50),
                                            min_size=1,
                                            max_size=30))
        grown = data.draw(strategies.lists(
            strategies.tuples(*[strategies.integers(0, 10_000)] * 2),
            min_size=len(pauses), max_size=len(pauses)))
        at, total, readings = float(BEGIN + 7), [0, 0], []
        for pause, more in zip([0.0, *pauses], [(0, 0), *grown]):
            at, total = at + pause, [a + b for a, b in zip(total, more)]
            readings.append(Reading(at, {'a': Counters(
                *total, *(4096 * n for n in total),
                *(n / 1000 for n in total))}))
        for step_s in (60, 300, 3600):
            found = series([place('a')], {'node1': readings}, BEGIN,
                           BEGIN + 1800, step_s)
            np.testing.assert_allclose(
                [at - readings[0].at, *total, *(4096 * n for n in total),
                 *(n / 1000 for n in total)],
                found.sums.sum(axis=1)[:, 0], rtol=1e-4)
            self.assertLessEqual(found.seconds.max(), step_s * (1 + 1e-6))

    @hypothesis.given(strategies.permutations(range(3)))
    def test_the_order_of_hosts_does_not_matter(self, order):
        readings = [(f'node{n}', taken(
            lambda at, n=n: {'a': since(at, iops=100 * (n + 1))}
            if BEGIN + 200 * n <= at <= BEGIN + 200 * (n + 1) else {},
            range(BEGIN, END + 1, 10))) for n in range(3)]
        found = amounts.series(
            [place('a', 'node2')], dict(readings[n] for n in order), BEGIN,
            END, 60, longest_s=LONGEST_S)
        self.assertEqual([60] * 10, seconds(found))
        self.assertTrue(all(
            a <= b for a, b in itertools.pairwise(found.iops[:, 0])))
        self.assertEqual(history.FIGURES[0], 'seconds')
