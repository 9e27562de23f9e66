# SPDX-License-Identifier: Apache-2.0
"""Days of volumes from Ceilometer's metrics in Gnocchi.

The functional test asks a real one.
"""

import dataclasses
import datetime
import json
from urllib import parse

import ddt
import numpy as np
import testtools

from serifos import errors
from serifos.facts.caps import Caps
from serifos.telemetry.counters import Counters
from serifos.telemetry import gnocchi
from serifos.telemetry import gnocchi_disks as disks
from serifos.telemetry import http
from tests.unit.telemetry import readings

BEGIN = 1_800_000_000
HOUR, EVERY_S = 3600, 300
NAMES = disks.COUNTED + disks.TIMED


def busy(at, **others):
    return readings.steady(at - BEGIN + HOUR, **others)


def _sum(*several):
    return Counters(*map(sum, zip(*several)))


@ddt.ddt
class PastTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.disks = {'a': busy}
        self.attached = {'a': 0.0}
        self.measured = range(BEGIN - HOUR, BEGIN + HOUR + 1, EVERY_S)
        self.names, self.now = NAMES, BEGIN + HOUR
        self.url = self.enterContext(readings.serving(self.answer))

    def answer(self, method, path, headers, body):
        """As Gnocchi: the resources of disks, the measures of metrics."""
        url = parse.urlsplit(path)
        if 'search' in url.path:
            wanted = json.loads(body)['in']['original_resource_id']
            return 200, json.dumps([
                {'original_resource_id': name, 'metrics': {
                    metric: f'{metric}@{name}' for metric in self.names}}
                for name in wanted])
        start = datetime.datetime.fromisoformat(
            parse.parse_qs(url.query)['start'][0] + '+00:00').timestamp()
        return 200, json.dumps({'measures': {
            metric: {'mean': [
                [datetime.datetime.fromtimestamp(
                    at, datetime.UTC).isoformat(), EVERY_S,
                 self.value(metric, at)]
                for at in self.measured if at >= start]}
            for metric, _ in json.loads(body)['operations'][1:]}})

    def value(self, metric, at):
        name, _, disk = metric.partition('@')
        nth, of = NAMES.index(name), self.disks[disk.partition('-')[0]]
        return of(at)[nth] * (1e9 if nth > 3 else 1)

    def read(self, *volumes, begin=BEGIN, end=BEGIN + HOUR, step_s=EVERY_S,
             caps=None):
        return gnocchi.Gnocchi(
            http.session(), self.url, lambda: {
                volume: (volume, '/dev/vdb', since)
                for volume, since in self.attached.items()},
            granularity_s=EVERY_S, clock=lambda: self.now).read(
                [dataclasses.replace(readings.place(volume), caps=caps)
                 for volume in volumes or 'a'], begin, end, step_s)

    @ddt.data(300, 900, HOUR)
    def test_a_steady_volume(self, step_s):
        found = self.read(step_s=step_s)
        np.testing.assert_allclose(
            np.full((HOUR // step_s, 1), step_s), found.seconds)
        for name, value in (('iops', 1000), ('write_pct', 25),
                            ('block_kib', 8), ('latency_us', 2000),
                            ('outstanding', 2)):
            np.testing.assert_allclose(
                value, getattr(found, name), rtol=1e-4, err_msg=name)

    def test_the_waiting_of_throttled_requests_is_left_out(self):
        """In the second half hour, at its cap, they take ten times as long."""
        self.disks['a'] = lambda at: busy(at, iops=500) if (
            at <= BEGIN + 1800) else _sum(
                busy(BEGIN + 1800, iops=500),
                readings.steady(at - BEGIN - 1800, iops=1000,
                                latency_us=20000))
        for cap, us, queued in (
                (None, 14000, 10.5), (Caps(2000.0), 14000, 10.5),
                (Caps(1000.0), 2000, 1.5)):
            found = self.read(step_s=HOUR, caps=cap)
            np.testing.assert_allclose(750, found.iops, rtol=1e-3)
            np.testing.assert_allclose(us, found.latency_us, rtol=1e-3)
            np.testing.assert_allclose(queued, found.outstanding, rtol=1e-3)

    def test_what_was_there_before_it_was_attached_says_nothing(self):
        self.attached['a'] = BEGIN + 1500.0
        self.disks['a'] = lambda at: busy(at, iops=500) if (
            at <= BEGIN + 1500) else readings.steady(at - BEGIN - 1500)
        found = self.read(caps=Caps(1000.0))
        self.assertTrue(np.isnan(found.latency_us[6:]).all())
        np.testing.assert_allclose(1000, found.iops[6:], rtol=1e-3)

    def test_each_volume_by_itself(self):
        self.disks['b'] = lambda at: busy(at, iops=300)
        self.attached = {'b': 0.0, 'a': 0.0}
        found = self.read('b', 'c', 'a')
        np.testing.assert_allclose([300, 1000], found.iops[0, [0, 2]],
                                   rtol=1e-4)
        self.assertEqual(0, found.seconds[:, 1].sum())

    @ddt.data(disks.COUNTED, NAMES[:5])
    def test_where_the_time_of_requests_is_not_polled(self, names):
        self.names = names
        found = self.read()
        np.testing.assert_allclose(1000, found.iops, rtol=1e-4)
        self.assertTrue(np.isnan(found.latency_us).all())
        self.assertTrue(np.isnan(found.outstanding).all())
        self.disks['a'] = lambda at: readings.steady(77)
        np.testing.assert_array_equal(0, self.read().outstanding)

    def test_what_another_volume_did_on_that_disk_is_not_its_own(self):
        self.attached['a'] = BEGIN + 1500.0
        self.disks['a'] = lambda at: busy(at) if at >= BEGIN + 1500 else (
            readings.steady(at - BEGIN + HOUR, iops=100))
        found = self.read()
        self.assertEqual([0] * 5 + [300] * 7, found.seconds[:, 0].tolist())
        np.testing.assert_allclose(1000, found.iops[5:], rtol=1e-4)

    def test_gap(self):
        """One measure that is lacking is none; of two nothing is known."""
        self.measured = [at for at in self.measured if at - BEGIN not in (
            600, 1500, 1800)]
        self.assertEqual([300] * 4 + [0] * 3 + [300] * 5,
                         self.read().seconds[:, 0].tolist())

    def test_reset(self):
        self.disks['a'] = lambda at: busy(at) if at < BEGIN + 700 else (
            readings.steady(at - BEGIN - 700))
        found = self.read()
        self.assertEqual([300] * 2 + [0] + [300] * 9,
                         found.seconds[:, 0].tolist())
        np.testing.assert_allclose(
            1000, found.iops[found.seconds > 0], rtol=1e-4)

    def test_what_is_older_than_it_keeps(self):
        found = self.read(begin=BEGIN - 2 * HOUR, step_s=HOUR)
        self.assertEqual([0, HOUR, HOUR], found.seconds[:, 0].tolist())

    @ddt.data(60, 400, 0, -300)
    def test_slots_that_it_does_not_have(self, step_s):
        error = self.assertRaises(errors.InputError, self.read, step_s=step_s)
        self.assertIn(f'no slots of {step_s} s; give a multiple of [telemetry]'
                      ' gnocchi_granularity, 300 s', str(error))
