# SPDX-License-Identifier: Apache-2.0
"""Exporters read over real HTTP, and their readings kept."""

import json
import os

import ddt
import fixtures
import numpy as np
import testtools

from serifos import errors
from serifos.telemetry.counters import Reading
from serifos.telemetry import http
from serifos.telemetry.ring import Ring
from serifos.telemetry import scrape
from tests.unit import case
from tests.unit.telemetry import readings


class Clock:
    """Time that passes by sleeping only."""

    def __init__(self):
        self.now = 10_000.0

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


class RingTest(case.DirectoryCase):

    def setUp(self):
        super().setUp()
        self.file = self.dir / 'telemetry.jsonl'
        self.ring = Ring(self.dir, 900)

    def add(self, at, **faults):
        self.ring.append({'node1': Reading(
            at, {'a': readings.steady(at)}, faults, 7.0)})

    def times(self):
        return [r.at for r in self.ring.read().get('node1', ())]

    def test_what_was_appended_is_read(self):
        self.add(10_000, b='twice there')
        self.ring.append({'node2': Reading(10_015, fault='silent')})
        self.ring.append({'node3': Reading(10_015, clock=10_016.5)})
        self.assertEqual(
            {'node1': [Reading(10_000, {'a': readings.steady(10_000)},
                               {'b': 'twice there'}, 7.0)],
             'node2': [Reading(10_015, fault='silent')],
             'node3': [Reading(10_015, clock=10_016.5)]},
            self.ring.read())

    def test_only_what_is_recent_enough(self):
        for at in range(0, 1500, 15):
            self.add(at)
        self.assertEqual([1455, 1470, 1485], [
            r.at for r in self.ring.read(since=1450)['node1']])

    def test_nothing_yet(self):
        self.assertEqual({}, self.ring.read())

    def test_it_keeps_enough_and_not_more_than_twice_that(self):
        for at in range(0, 6_000, 15):
            self.add(at)
            found = self.times()
            self.assertLessEqual(found[-1] - found[0], 2 * 900 + 30)
            if at > 900:
                self.assertGreaterEqual(found[-1] - found[0], 900)
        self.assertEqual(15, {b - a for a, b in zip(
            found, found[1:])}.pop())

    def test_a_crash_in_the_middle_of_a_write_costs_one_reading(self):
        for at in (0, 15, 30):
            self.add(at)
        os.truncate(self.file, self.file.stat().st_size - 20)
        self.assertEqual([0, 15], self.times())
        self.add(45)
        self.assertEqual([0, 15, 45], self.times())

    def test_a_header_cut_short_starts_a_new_file(self):
        self.file.write_text('{"schema": "serif')
        self.add(15)
        self.assertEqual([15], self.times())

    def test_zeros_that_a_power_failure_left(self):
        self.add(0)
        with open(self.file, 'ab') as file:
            file.write(b'\0' * 100)
        self.add(15)
        self.assertEqual([0, 15], self.times())

    def test_figures_that_are_none_are_left_out(self):
        self.add(0)
        with open(self.file, 'a') as file:
            for values in ('[1,2]', '[NaN,0,0,0,0,0]', '"x"', '[1,2,3,4,5,-6]',
                           '[1,2,3,4,5,"6"]'):
                file.write(f'{{"at":1,"host":"node1","volumes":'
                           f'{{"a":{values}}}}}\n')
            file.write('{"at":null,"host":"node1"}\n[]\n{}\n')
            file.write('{"at":1,"host":"node1","volumes":[]}\n')
        self.assertEqual([0], self.times())

    def test_a_later_version_is_refused_by_name(self):
        self.file.write_text(json.dumps(
            {'schema': 'serifos-telemetry/2', 'begun': 0}) + '\n')
        for broken in (self.ring.read, lambda: self.add(15)):
            error = self.assertRaises(errors.FormatError, broken)
            self.assertIn('this serifos reads serifos-telemetry/1',
                          str(error))

    def test_a_clock_set_back_starts_a_new_file(self):
        self.add(10_000)
        self.add(5_000)
        self.assertEqual([5_000, 10_000], self.times())
        self.assertEqual(2, len(list(self.dir.glob('*.jsonl'))))

    def test_a_directory_that_is_not_there(self):
        error = self.assertRaises(
            errors.InputError,
            Ring(self.dir / 'no', 9).append,
            {'node1': Reading(0)})
        self.assertIn('cannot be written: No such file', str(error))

    def test_others_cannot_read_it(self):
        self.add(0)
        self.assertEqual(0o640, self.file.stat().st_mode & 0o777 | 0o040)


@ddt.ddt
class ScrapeTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.clock = Clock()
        self.ring = Ring(self.useFixture(fixtures.TempDir()).path, 900)
        self.answers = {}
        self.url = self.enterContext(readings.serving(self.answer))

    def answer(self, method, path, headers, body):
        return self.answers[path]

    def scrape(self, *paths, session=None, **others):
        return scrape.Scrape(
            session or http.session(),
            {f'node{nth}': self.url + path
             for nth, path in enumerate(paths, 1)},
            self.ring, clock=self.clock, sleep=self.clock.sleep,
            **{'interval_s': 15.0, **others})

    def run_for(self, source, count, *volumes):
        for _ in range(count):
            for nth, path in enumerate(volumes):
                self.answers[path] = (200, readings.text(
                    {'a': readings.steady(self.clock(), iops=100 * (nth + 1))},
                    clock=self.clock()))
            source.scrape()
            self.clock.sleep(15)
        self.clock.sleep(-15)

    def test_two_hosts(self):
        source = self.scrape('/one', '/two')
        self.run_for(source, 41, '/one', '/two')
        seen = source.observe([readings.place('x', 'node1', 'a'),
                               readings.place('y', 'node2', 'a')], 600)
        self.assertAlmostEqual(100, seen.volumes['x'].mean.iops)
        self.assertAlmostEqual(200, seen.volumes['y'].mean.iops)
        self.assertEqual(40, seen.volumes['y'].intervals)
        self.assertEqual((self.clock(), {}), (seen.at, seen.problems))
        self.assertEqual(1000.0, seen.started['node2@ssd#ssd'])

    def test_what_the_ring_holds_of_the_past(self):
        source = self.scrape('/one', '/two')
        began = self.clock()
        self.run_for(source, 41, '/one', '/two')
        found = source.read([readings.place('x', 'node1', 'a'),
                             readings.place('y', 'node2', 'a')],
                            began, self.clock(), 300)
        self.assertEqual([600, 600], found.seconds.sum(axis=0).tolist())
        for column, iops in enumerate((100, 200)):
            np.testing.assert_allclose(
                iops, found.iops[found.seconds[:, column] > 0, column],
                rtol=1e-4)

    @ddt.data(
        ((500, 'broken'), 'answers HTTP 500 Internal Server Error: broken'),
        ((404, ''), 'answers HTTP 404 Not Found'),
        ((302, ''), 'answers HTTP 302'),
        ((401, ''), 'refuses the login'),
        ((0, ''), 'does not answer'),
        ((200, '<html>'), 'shows no node_disk_*_total'),
        ((200, 'node_disk_reads_completed_total{de'), 'cannot be read'))
    @ddt.unpack
    def test_one_host_that_fails_does_not_hide_the_other(self, answer, why):
        source = self.scrape('/one', '/two')
        self.answers['/two'] = answer
        self.run_for(source, 3, '/one')
        self.assertIn(why, source.scrape()['node2'])
        seen = source.observe([readings.place('a'),
                               readings.place('b', 'node2')], 600)
        self.assertEqual({'a'}, set(seen.volumes))
        self.assertIn(why, seen.missing['b'])
        self.assertIn(why, seen.problems['node2@ssd#ssd'])

    def test_nobody_listens(self):
        source = scrape.Scrape(
            http.session(), {'node1': 'http://u:secret@127.0.0.1:1/metrics'},
            self.ring, interval_s=15.0, clock=self.clock)
        why = source.scrape()['node1']
        self.assertIn('http://127.0.0.1:1/metrics does not answer: ', why)
        self.assertIn('Connection refused', why)
        self.assertNotIn('secret', why)

    def test_a_host_without_an_endpoint_is_said(self):
        source = self.scrape('/one')
        self.run_for(source, 2, '/one')
        self.assertIn('endpoints names no', source.observe(
            [readings.place('a', 'node9')], 600).missing['a'])

    def test_a_host_without_volumes_is_looked_at_too(self):
        source = self.scrape('/one')
        self.run_for(source, 2, '/one')
        pools = ['node1@ssd#ssd', 'node9@ssd#ssd']
        seen = source.observe([], 600, pools)
        self.assertEqual(['node9@ssd#ssd'], [*seen.problems])
        self.assertEqual(self.clock(), seen.at)  # not the epoch
        self.assertIn('endpoints names no', seen.problems['node9@ssd#ssd'])
        self.clock.sleep(900)
        self.answers['/one'] = (500, 'no')
        source.scrape()
        self.assertEqual({*pools}, {*source.observe([], 600, pools).problems})

    def test_no_reading_at_all_is_an_error(self):
        error = self.assertRaises(
            errors.CloudError, self.scrape('/one').observe,
            [readings.place('a')], 600)
        self.assertIn('No reading has been taken of late', str(error))

    def test_no_endpoints_at_all_is_an_error(self):
        source = self.scrape()
        for asked in lambda: source.readings, lambda: source.disks({'node1'}):
            self.assertIn('[telemetry] endpoints', str(self.assertRaises(
                errors.InputError, asked)))

    def test_a_password_is_given_where_one_is_wanted(self):
        asked = []

        def answer(method, path, headers, body):
            asked.append(headers['Authorization'])
            return 200, readings.REAL
        self.answer = answer
        self.url = self.enterContext(readings.serving(answer))
        source = self.scrape('/one', session=http.session(
            username='u', password='p'))
        self.assertEqual({}, source.scrape())
        self.assertEqual(['Basic dTpw'], asked)

    def gathered(self, source, window_s):
        told, began = [], self.clock()
        source.gather(window_s, lambda *args: told.append(args))
        return told, self.clock() - began

    def answer_by_clock(self):
        self.url = self.enterContext(readings.serving(
            lambda *asked: (
                200, readings.text({'a': readings.steady(self.clock())}))))

    @ddt.data((1, 30), (30, 30), (100, 100), (600, 600))
    @ddt.unpack
    def test_gather_takes_what_the_ring_lacks(self, window_s, taken):
        self.answer_by_clock()
        source = self.scrape('/one')
        told, seconds = self.gathered(source, window_s)
        self.assertEqual(taken, seconds)
        self.assertEqual((0, taken), told[0])
        seen = source.observe([readings.place('a')], taken).volumes['a']
        self.assertAlmostEqual(1000, seen.mean.iops)
        told, seconds = self.gathered(source, window_s)
        self.assertEqual(([], 0), (told, seconds))

    def test_gather_counts_what_the_ring_holds(self):
        self.answer_by_clock()
        source = self.scrape('/one')
        self.run_for(source, 21)
        told, seconds = self.gathered(source, 600)
        self.assertEqual(300, seconds)
        self.assertEqual((300, 600), told[0])

    def test_what_was_gathered_is_fresh(self):
        # Else it is stale by the time that Cinder has told its volumes.
        self.answer_by_clock()
        source = self.scrape('/one')
        self.run_for(source, 41)
        self.clock.sleep(44)
        self.gathered(source, 600)
        self.clock.sleep(40)
        seen = source.observe([readings.place('a')], 600)
        self.assertEqual({}, seen.missing)

    def test_gather_begins_anew_where_the_ring_is_old(self):
        self.answer_by_clock()
        source = self.scrape('/one')
        self.run_for(source, 21)
        self.clock.sleep(5000)
        self.assertEqual(60, self.gathered(source, 60)[1])

    def test_gather_ends_though_nobody_answers(self):
        self.answers['/one'] = 500, ''
        self.assertEqual(60, self.gathered(self.scrape('/one'), 60)[1])
