# SPDX-License-Identifier: Apache-2.0
"""Days of volumes from what a Prometheus keeps.

The functional test asks a real one.
"""

import logging

import ddt
import fixtures
import numpy as np
import testtools

from serifos import errors
from serifos.facts import activity
from serifos.telemetry import http
from serifos.telemetry import prometheus
from tests.fakes import prometheus as fake
from tests.unit.telemetry import readings

BEGIN = 1_800_000_000
HOUR, DAY = 3600, 86400
NODE1 = {'instance': 'node1:9100', 'job': 'node'}
NODE2 = {'instance': 'node2:9100', 'job': 'node'}


def busy(at, **others):
    """Counters of a volume that has been busy since the day before."""
    return readings.steady(at - BEGIN + DAY, **others)


def scrapes(begin=BEGIN - 600, end=BEGIN + 2 * HOUR + 600, every=15):
    return [at + 7.25 for at in range(begin, end, every)]


@ddt.ddt
class PastTest(testtools.TestCase):

    def source(self, *exporters, **others):
        self.server = fake.Prometheus(*exporters)
        url = self.enterContext(readings.serving(self.server.answer))
        return prometheus.Prometheus(
            http.session(), url, interval_s=15,
            **{'label': 'instance', **others})

    def read(self, *exporters, places=None, begin=BEGIN, end=BEGIN + HOUR,
             step_s=300, **others):
        return self.source(*exporters, **others).history.read(
            places or [readings.place('a')], begin, end, step_s)

    def node1(self, said=None, times=None, **others):
        return fake.Exporter(NODE1, times or scrapes(), said or (
            lambda at: {'a': busy(at), 'b': busy(at, iops=500)}), **others)

    def assert_seen(self, expected, found, within=0.01):
        np.testing.assert_allclose(expected, found.seconds[:, 0], within)

    @ddt.data(60, 300, 900, HOUR)
    def test_a_steady_volume(self, step_s):
        found = self.read(self.node1(),
                          places=[readings.place('b'), readings.place('a')],
                          step_s=step_s)
        np.testing.assert_allclose(
            np.full((HOUR // step_s, 2), step_s), found.seconds, rtol=1e-5)
        for name, value in (('iops', (500, 1000)), ('write_pct', 25),
                            ('block_kib', 8), ('latency_us', 2000),
                            ('outstanding', (1, 2))):
            np.testing.assert_allclose(
                np.broadcast_to(value, (HOUR // step_s, 2)),
                getattr(found, name), rtol=1e-4)

    def test_only_the_volumes_that_are_wanted_are_asked_for(self):
        self.read(self.node1())
        info, counters, clocks, scraped = self.server.asked
        self.assertIn(r'lv_name=~"volume\\-a"', info)
        self.assertIn(' and ignoring(lv_layer,', counters)
        self.assertIn('node_boot_time_seconds', clocks)
        self.assertIn('timestamp(', scraped)
        for query in self.server.asked:
            self.assertTrue(query.endswith(
                f'[4050s:300s] @ {BEGIN + HOUR + 300}'), query)

    def test_of_many_volumes_all_are_asked_for_and_not_all_times_at_once(self):
        volumes = [f'v{n:03}' for n in range(150)]
        node = self.node1(lambda at: {
            volume: busy(at, iops=n + 1) for n, volume in enumerate(volumes)})
        found = self.read(node, places=list(map(readings.place, volumes)),
                          end=BEGIN + 600)
        self.assertEqual(3, len(self.server.asked))
        self.assertNotIn('lv_name=~', self.server.asked[0])
        np.testing.assert_allclose(
            [np.arange(1, 151)] * 2, found.iops, rtol=1e-4)

    def test_of_more_each_exporter_is_asked_for_alone(self):
        """A volume's past on the host that it left is found as well."""
        nodes = [fake.Exporter(labels, scrapes(), said) for labels, said in (
            (NODE1, lambda at: {'b': busy(at), **(
                {'a': busy(at)} if at < BEGIN + 1800 else {})}),
            (NODE2, lambda at: {} if at < BEGIN + 1800 else {
                'a': busy(at)}))]
        places = [readings.place('a', 'node2'), readings.place('b')]
        whole = self.read(*nodes, places=places)
        self.useFixture(fixtures.MonkeyPatch(
            'serifos.telemetry.prometheus.MOST_DEVICES', 1))
        found = self.read(*nodes, places=places)
        self.assertEqual(1 + 2 * 4, len(self.server.asked))
        self.assertIn('instance=~"node1:9100"', self.server.asked[1])
        self.assertIn('instance=~"node2:9100"', self.server.asked[-1])
        np.testing.assert_array_equal(whole.sums, found.sums)
        self.assertGreater(found.seconds[0, 0], 0)

    def test_what_is_asked_for_in_parts_is_the_same(self):
        """300 slots of a minute are more than is asked for at once."""
        node = self.node1(times=scrapes(end=BEGIN + 6 * HOUR))
        whole = self.read(node, end=BEGIN + 5 * HOUR, step_s=60)
        self.assertGreater(len(self.server.asked), 4)
        self.assert_seen(np.full(300, 60), whole, 1e-4)
        np.testing.assert_allclose(1000, whole.iops, rtol=1e-3)

    def test_the_newest_slot_goes_until_the_last_scrape(self):
        now = BEGIN + 1000
        found = self.read(self.node1(times=scrapes(end=now - 10)), end=now)
        self.assert_seen([300, 300, 300, 82.25], found)
        np.testing.assert_allclose(1000, found.iops, rtol=1e-4)

    def test_an_exporter_that_went_and_came(self):
        found = self.read(self.node1(
            lambda at: None if BEGIN + 900 <= at < BEGIN + 1500
            else {'a': busy(at)}))
        self.assertEqual([0, 0], found.seconds[3:5, 0].tolist())
        self.assertGreater(found.seconds.sum(), HOUR - 600 - 601)
        np.testing.assert_allclose(
            1000, found.iops[found.seconds > 0], rtol=1e-4)

    @ddt.data(100, 200, 280, 1000)
    def test_a_prometheus_that_was_down(self, seconds):
        """Nobody is idle meanwhile, and busier than it was thereafter."""
        found = self.read(self.node1(times=[
            at for at in scrapes()
            if not BEGIN + 1390 <= at < BEGIN + 1390 + seconds]))
        np.testing.assert_allclose(
            1000, found.iops[found.seconds > 0], rtol=1e-4)
        self.assertGreater(found.seconds.sum(), HOUR - seconds - 601)

    def test_reset(self):
        found = self.read(self.node1(
            lambda at: {'a': busy(at) if at < BEGIN + 1000
                        else readings.steady(at - BEGIN - 1000)}))
        self.assertLess(found.seconds[3, 0], 20)
        np.testing.assert_allclose(
            1000, found.iops[found.seconds > 0], rtol=1e-4)
        self.assertEqual(HOUR - 300, round(float(found.seconds.sum())))

    def test_a_host_that_was_restarted_though_no_counter_fell(self):
        found = self.read(self.node1(
            lambda at: {'a': readings.steady(at - BEGIN + 700)
                        if at < BEGIN + 1000
                        else readings.steady(20 * (at - BEGIN), iops=900)},
            booted=lambda at: 77.0 if at < BEGIN + 1000 else BEGIN + 990.0))
        self.assertLess(np.nanmax(found.iops), 18_001)
        self.assertEqual(HOUR - 300, round(float(found.seconds.sum())))

    def test_new_and_deleted(self):
        found = self.read(self.node1(
            lambda at: {'a': busy(at)} if BEGIN + 600 <= at < BEGIN + 1800
            else {}))
        self.assertEqual(0, found.seconds[:2].sum())
        self.assertEqual(0, found.seconds[6:].sum())
        np.testing.assert_allclose(1000, found.iops[2:5], rtol=1e-4)

    @ddt.data(1, 101)
    def test_migrated(self, volumes):
        """There, back again, and there: whichever host has it now."""
        def of(*where):
            return lambda at: {'a': busy(at, iops=1000 if 1 in where else 500)
                               } if (at > BEGIN + 1500) + (
                                   at > BEGIN + 2700) in where else {}
        others = [readings.place(f'x{n}') for n in range(1, volumes)]
        found = self.read(
            fake.Exporter(NODE1, scrapes(), of(0, 2)),
            fake.Exporter(NODE2, scrapes(), of(1)),
            places=[readings.place('a'), *others])
        np.testing.assert_allclose(
            [500] * 5 + [1000] * 4 + [500] * 3,
            np.where(found.seconds > 0, found.iops, [
                [500]] * 5 + [[1000]] * 4 + [[500]] * 3)[:, 0], rtol=1e-3)
        self.assertGreater(found.seconds[:, 0].sum(), HOUR - 601)

    def test_migrated_in_use(self):
        """What was copied is not its own; before, it had its own name."""
        moved = BEGIN + 1800
        found = self.read(
            fake.Exporter(NODE1, scrapes(), lambda at: {
                'a': busy(at)} if at < moved + 300 else {}),
            fake.Exporter(NODE2, scrapes(), lambda at: {
                'copy': busy(at, iops=9000)}),
            places=[activity.MeasuredVolume('a', 'copy', 'node2@ssd#ssd',
                                            moved)])
        np.testing.assert_allclose(1000, found.iops[:6, 0], rtol=1e-3)
        np.testing.assert_allclose(9000, found.iops[7:, 0], rtol=1e-3)

    def test_what_several_jobs_scrape_is_not_counted_twice(self):
        """Neither on the host that has it nor on one that had it."""
        other = NODE2 | {'job': 'other'}
        for host in 'node1', 'node2':
            found = self.read(
                self.node1(lambda at: {}), *(fake.Exporter(
                    labels, scrapes(), lambda at: {'a': busy(at)})
                    for labels in (NODE2, other)),
                places=[readings.place('a', host)])
            self.assertEqual(0, found.seconds.sum(), host)

    def pods(self, *spans):
        """A pod of the exporter for each span, of seconds from BEGIN on."""
        return [fake.Exporter(
            NODE1 | {'pod': f'exporter-{nth}'},
            [at for at in scrapes() if since <= at - BEGIN < until],
            lambda at: {'a': busy(at)})
            for nth, (since, until) in enumerate(spans)]

    @ddt.data(60, 300)
    def test_a_pod_that_was_replaced(self, step_s):
        log = self.useFixture(fixtures.FakeLogger(level=logging.WARNING))
        found = self.read(*self.pods((-600, 1000), (1060, HOUR + 600)),
                          step_s=step_s)
        self.assert_seen(np.full(HOUR // step_s, step_s), found, 1e-4)
        np.testing.assert_allclose(1000, found.iops, rtol=1e-4)
        self.assertEqual('', log.output)

    def test_the_same_for_a_host_that_a_volume_came_from(self):
        found = self.read(*self.pods((-600, 1000), (1060, HOUR + 600)),
                          places=[readings.place('a', 'node2')])
        self.assert_seen(np.full(12, 300), found, 1e-4)

    def test_what_two_scrape_for_a_while_is_lost_and_told(self):
        log = self.useFixture(fixtures.FakeLogger(level=logging.WARNING))
        found = self.read(*self.pods((-600, HOUR + 600), (1250, 2050)))
        self.assertEqual(0, found.seconds[4:6].sum())
        self.assertEqual([300] * 6, found.seconds[[
            0, 1, 8, 9, 10, 11], 0].round().tolist())
        np.testing.assert_allclose(
            1000, found.iops[found.seconds > 0], rtol=1e-4)
        self.assertIn('The history of the volumes of node1 has gaps from',
                      log.output)
        self.assertIn('at the same time, {pod="exporter-0"} and '
                      '{pod="exporter-1"}; choose', log.output)

    def test_no_exporter_and_no_volume(self):
        self.assertEqual(0, self.read().seconds.sum())
        self.assertEqual((12, 0), self.source(self.node1()).history.read(
            [], BEGIN, BEGIN + HOUR, 300).seconds.shape)

    @ddt.data(1, 10, 400, 0, -300)
    def test_slots_that_it_is_not_asked_for(self, step_s):
        error = self.assertRaises(errors.InputError, self.read, self.node1(),
                                  step_s=step_s)
        self.assertIn(f'slots of {step_s} s; give a multiple of 300 s',
                      str(error))

    def test_a_selector_and_hosts_that_are_named(self):
        found = self.read(self.node1(),
                          places=[readings.place('a', 'storage-7')],
                          hosts={'storage-7': 'node1:9100'},
                          selector='job="node"')
        np.testing.assert_allclose(1000, found.iops, rtol=1e-4)
        for query in self.server.asked:
            self.assertIn('job="node"', query)
