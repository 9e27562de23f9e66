# SPDX-License-Identifier: Apache-2.0
"""Volumes and gaps in the answers that Gnocchi documents.

The functional test asks a real one.
"""

import datetime
import itertools
import json

import ddt
import testtools

from serifos import errors
from serifos.telemetry import gnocchi
from serifos.telemetry import gnocchi_disks
from serifos.telemetry import http
from tests.unit.telemetry import readings

NOW = 90_100.0
TIMES = [NOW - 100 - 300 * n for n in reversed(range(5))]


def measured(value, times=TIMES):
    return [[datetime.datetime.fromtimestamp(at, datetime.UTC).isoformat(),
             300.0, value(at)] for at in times]


@ddt.ddt
class GnocchiTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        names = gnocchi_disks.COUNTED + gnocchi_disks.TIMED
        self.metrics = {name: measured(
            lambda at, nth=nth: readings.steady(at)[nth]
            * (1e9 if nth > 3 else 1)) for nth, name in enumerate(names)}
        self.resources, self.searches, self.status = None, [], 200
        self.asked = []
        self.answers, self.now = {}, itertools.repeat(NOW)
        self.url = self.enterContext(readings.serving(self.answer))

    def answer(self, method, path, headers, body):
        if self.status != 200:
            return self.status, '{"code": 400, "description": "no"}'
        if 'search' in path:
            wanted = json.loads(body)['in']['original_resource_id']
            self.searches.append(len(wanted))
            return 200, json.dumps(
                [{'original_resource_id': name, 'metrics': {
                    metric: f'{metric}@{name}' for metric in self.metrics}}
                 for name in wanted]
                if self.resources is None else self.resources)
        (_, *metrics), found = json.loads(body)['operations'], {}
        self.asked.append(len(metrics))
        for wanted, method in metrics:
            metric, _, name = wanted.partition('@')
            rows = self.answers.get(name, self.metrics[
                wanted if wanted in self.metrics else metric])
            if rows is None:
                return 404, '{"cause": "Unknown metrics"}'
            found[wanted] = {method: rows}
        return 200, json.dumps({'measures': found})

    def observed(self, *volumes, window_s=600):
        volumes = volumes or ('a',)
        return gnocchi.Gnocchi(
            http.session(), self.url,
            lambda: {volume: (f'i-{nth}', '/dev/vdb', 0.0)
                     for nth, volume in enumerate(volumes, 1)},
            granularity_s=300.0, clock=lambda: next(self.now)).observe(
                [readings.place(volume) for volume in volumes], window_s)

    def test_a_volume(self):
        observed = self.observed()
        self.assertTrue(observed.in_qemu)
        seen = observed.volumes['a']
        self.assertAlmostEqual(1000, seen.mean.iops)
        self.assertAlmostEqual(2000, seen.mean.latency_us, 3)
        self.assertEqual((600, 2), (seen.seconds, seen.intervals))

    def test_many_volumes_are_searched_for_a_hundred_at_a_time(self):
        volumes = [f'v{nth}' for nth in range(102)]
        seen = self.observed(*volumes)
        self.assertEqual([100, 2], self.searches)
        self.assertEqual([600, 12], self.asked)
        self.assertEqual(102, len(seen.volumes))

    def test_so_many_measures_are_asked_for_at_once(self):
        """Of ten minutes, with what lies before: 5 of 6 metrics each."""
        for most, asked in ((59, [6] * 4), (89, [12, 12]), (1, [6] * 4)):
            self.patch(gnocchi, '_MEASURES', most)
            self.asked.clear()
            self.assertEqual(4, len(self.observed(*'abcd').volumes))
            self.assertEqual(asked, self.asked, most)

    @ddt.data(*gnocchi_disks.TIMED)
    def test_busy_without_latency_is_unknown(self, name):
        del self.metrics[name]
        self.assertIn('how long its requests take is not measured',
                      self.observed().missing['a'])

    def test_idle_without_latency_is_idle(self):
        """Idle in the window; what was before it does not matter."""
        for name in gnocchi_disks.TIMED:
            del self.metrics[name]
        for name in gnocchi_disks.COUNTED:
            self.metrics[name] = measured(lambda at: max(TIMES[2], at)
                                          if at < TIMES[2] else TIMES[2])
        self.metrics[gnocchi_disks.COUNTED[0]] = measured(
            lambda at: 5 if at < TIMES[2] else 9)
        seen = self.observed()
        self.assertEqual(0, seen.volumes['a'].mean.iops)
        self.assertEqual({}, seen.missing)
        self.assertIn('not measured',
                      self.observed(window_s=900).missing['a'])

    @ddt.data(*gnocchi_disks.COUNTED)
    def test_a_metric_that_is_not_there(self, name):
        del self.metrics[name]
        self.assertIn(f'no {name} of i-1-vdb', self.observed().missing['a'])

    def test_no_measures_at_all(self):
        self.metrics = dict.fromkeys(self.metrics, [])
        self.assertEqual('there is no reading of a',
                         self.observed().missing['a'])

    def test_no_resource(self):
        self.resources = []
        self.assertIn('no resource i-1-vdb', self.observed().missing['a'])

    def accounts(self, *times):
        """A resource of the disk for each account of Ceilometer."""
        self.resources = [{'original_resource_id': 'i-1-vdb', 'metrics': {
            metric: f'{metric}@{nth}' for metric in self.metrics}}
            for nth, _ in enumerate(times)]
        rows = dict(self.metrics)
        self.metrics = {f'{metric}@{nth}': its and [
            row for row, at in zip(rows[metric], TIMES) if at in its]
            for metric in rows for nth, its in enumerate(times)}

    def test_another_account_of_ceilometer_goes_on_with_a_disk(self):
        self.accounts(TIMES[:4], TIMES[3:])
        seen = self.observed()
        self.assertAlmostEqual(1000, seen.volumes['a'].mean.iops)
        self.assertEqual(600, seen.volumes['a'].seconds)

    def test_an_old_account_that_kept_other_granularities(self):
        self.accounts(None, TIMES)
        self.assertEqual(600, self.observed().volumes['a'].seconds)

    def test_two_ceilometers_that_go_on_together(self):
        self.accounts(TIMES, TIMES)
        self.assertIn('2 resources of its disk at the same times',
                      self.observed().missing['a'])

    @ddt.data((401, 'refuses the login'), (400, 'answers HTTP 400'))
    @ddt.unpack
    def test_an_error_of_the_server(self, status, why):
        self.status = status
        error = self.assertRaises(errors.CloudError, self.observed)
        self.assertIn(why, str(error))

    @ddt.data({'a': 1}, ['x'], [{'metrics': {}}], 5)
    def test_what_is_no_gnocchi(self, answer):
        self.resources = answer
        error = self.assertRaises(errors.CloudError, self.observed)
        self.assertIn('does not answer as Gnocchi', str(error))

    @ddt.data([['x']], [['x', 300, 1]], [[1, 2, 3]], 'x',
              [['9999-12-31T23:59:59-12:00', 300, 1]],
              [['0001-01-01T00:00:00', 300, 1]],
              [['2026-11-20T12:00:00', 300, 1e307]],
              [['2026-11-20T12:00:00', 300, -1]],
              [['2026-11-20T12:00:00', 300, [1]]])
    def test_measures_that_are_none_cost_that_volume_alone(self, answer):
        broken = [*answer, *self.metrics[gnocchi_disks.COUNTED[0]]]
        self.answers = {'i-2-vdb': broken}
        seen = self.observed('a', 'b')
        self.assertEqual({'a'}, set(seen.volumes))
        self.assertIn('cannot be read', seen.missing['b'])

    def test_a_metric_that_went_costs_that_volume_alone(self):
        """A few questions more, in which it is searched for."""
        self.answers = {'i-7-vdb': None}
        names = [f'v{nth}' for nth in range(1, 65)]
        seen = self.observed(*names)
        self.assertEqual({*names} - {'v7'}, {*seen.volumes})
        self.assertIn('no measures of its disk of each 300 s',
                      seen.missing['v7'])
        self.assertEqual(13, len(self.asked))

    @ddt.data([], {'measures': []}, {'aggregated': 1}, 7)
    def test_an_answer_that_is_none(self, answer):
        self.patch(json, 'dumps', lambda doc, its=json.dumps: its(
            answer if isinstance(doc, dict) else doc))
        error = self.assertRaises(errors.CloudError, self.observed)
        self.assertIn('does not answer as Gnocchi', str(error))

    def test_metrics_that_are_none(self):
        self.resources = [{'original_resource_id': 'i-1-vdb',
                           'metrics': 7}]
        self.assertIn('cannot be read', self.observed().missing['a'])

    def test_a_slow_server_is_not_asked_for_ever(self):
        self.patch(gnocchi, '_AT_ONCE', 1)
        self.now = iter(range(90_100, 99_999, 200))
        error = self.assertRaises(
            errors.CloudError, self.observed, 'a', 'b', 'c')
        self.assertIn('in 300 s it answered for 2 of 3 volumes', str(error))
