# SPDX-License-Identifier: Apache-2.0
"""Invalid hosts, series and lines, which affect themselves alone."""

import json
import os
import threading
import time

import ddt
import hypothesis
from hypothesis import strategies
import testtools

from serifos import errors
from serifos.telemetry import counters
from serifos.telemetry import exporter
from serifos.telemetry import gnocchi
from serifos.telemetry import http
from serifos.telemetry import prometheus
from serifos.telemetry.ring import Ring
from serifos.telemetry import scrape
from tests.unit import case
from tests.unit.telemetry import readings
from tests.unit.telemetry import test_prometheus
from tests.unit.web import hostile

GOOD = readings.text({'a': readings.steady(5)}, clock=2000.0)
ABSURD = '9' * 400, '1e307', 'NaN', '+Inf', '-1'
JSON = strategies.recursive(
    strategies.none() | strategies.booleans() | strategies.floats()
    | strategies.text(max_size=9)
    | strategies.integers() | strategies.just(10 ** 400),
    lambda inner: strategies.lists(inner, max_size=4)
    | strategies.dictionaries(
        strategies.sampled_from(('at', 'host', 'volumes', 'faults', 'started',
                                 'clock', 'fault', 'data', 'result', 'metric',
                                 'values', 'warnings', 'metrics',
                                 'original_resource_id')), inner, max_size=5),
    max_leaves=12)


def served(text):
    return hostile.say(hostile.body(text.encode()))


class Case(case.DirectoryCase):

    def setUp(self):
        super().setUp()
        self.ring = Ring(self.dir, 900)

    def scraping(self, talks, timeout_s, **others):
        """Of hosts that answer so, each at most 0.25 MiB."""
        session = http.session(timeout_s=timeout_s, max_bytes=2 ** 18)
        return scrape.Scrape(session, {
            host: f'http://{self.enterContext(hostile.serving(talk))}/'
            for host, talk in talks.items()}, self.ring, interval_s=0.01,
            **others)


@ddt.ddt
class ScrapeTest(Case):

    @ddt.data(
        (served(GOOD + GOOD), 'shows node_boot_time_seconds 2 times'),
        (served('node_disk_reads_completed_total{' + 'a="b",' * 20_000),
         'a line of 120032 bytes'),
        (hostile.HEADERS, 'within 2 s'), (hostile.BODY, 'within 2 s'),
        (hostile.CHUNKS, 'within 2 s'), (hostile.silent, 'within 2 s'),
        (hostile.ENDLESS, 'longer than 0.25 MiB'),
        (hostile.LONG_HEADER, 'got more than 65536 bytes'),
        (hostile.PACKED, 'in gzip, which was not asked for'),
        (hostile.say(b'HTTP/1.1 302 Found\r\nLocation: http://node1/\r\n'
                     b'Content-Length: 0\r\n\r\n'), 'answers HTTP 302'),
        (hostile.say(hostile.body(GOOD.encode('utf-16'))), 'shows no node_'),
        (served('node_disk_reads_completed_total{device="x"} ' + '\x00'),
         'is not a sample'))
    @ddt.unpack
    def test_one_host_is_left_out_and_named(self, talk, why):
        source = self.scraping({'node1': served(GOOD), 'node2': talk},
                               2.0 if 'within' in why else 10.0)
        with hostile.taking_at_most(self, 4):
            troubles = source.scrape()
        self.assertEqual(['node2'], [*troubles])
        self.assertIn(why, troubles['node2'])
        found = self.ring.read()
        self.assertIn('a', found['node1'][0].volumes)
        self.assertIn(why, found['node2'][0].fault)

    def test_what_no_device_can_do_is_not_told(self):
        now = time.time()
        for ago, busy_s in (15, 0.0), (0, 2.0 ** 63):
            self.ring.append({'node1': counters.Reading(now - ago, {
                'a': counters.Counters(2 - ago / 15, 0, 0, 0, busy_s, 0),
                'b': readings.steady(1000 - ago)})})
        seen = scrape.Scrape(http.session(), {'node1': 'http://h/'},
                             self.ring, interval_s=15.0).observe(
            [readings.place('a'), readings.place('b')], 60)
        self.assertEqual({'b'}, {*seen.volumes})
        self.assertIn('implausible latency_us', seen.missing['a'])

    def test_many_silent_hosts_do_not_hide_the_others(self):
        talks = {f'dead{nth}': hostile.silent for nth in range(40)}
        source = self.scraping(talks | {'node1': served(GOOD)}, 2.0)
        for _ in range(2):
            with hostile.taking_at_most(self, 9):
                self.assertNotIn('node1', source.scrape())


class ParallelTest(testtools.TestCase):
    """Threads that hang do not pile up, and hold nobody up."""

    def setUp(self):
        super().setUp()
        self.end = threading.Event()
        self.addCleanup(self.end.set)

    def hang(self):
        self.end.wait(60)

    def test_what_hangs_is_left_and_not_asked_again(self):
        asking = scrape.Parallel(4)
        questions = {'stuck': self.hang, 'fine': lambda: 7}
        before = threading.active_count()
        for _ in range(5):
            self.assertEqual({'fine': 7}, asking.ask(questions, 1.0))
        self.assertLessEqual(threading.active_count(), before + 2)

    def test_all_threads_stuck(self):
        asking = scrape.Parallel(2)
        before = threading.active_count()
        asking.ask({f'n{nth}': self.hang for nth in range(9)}, 0.05)
        with hostile.taking_at_most(self, 1):
            self.assertEqual({}, asking.ask({'fine': lambda: 7}, 60))
        self.assertLessEqual(threading.active_count(), before + 2)
        self.end.set()
        while not asking.ask({'fine': lambda: 7}, 1):
            pass

    def test_who_is_fast_is_asked_first(self):
        order = []
        asking = scrape.Parallel(1)

        def slow():
            order.append('slow')
            time.sleep(0.05)
        questions = {'slow': slow, 'fast': lambda: order.append('fast')}
        for _ in range(2):
            asking.ask(questions, 5)
        self.assertEqual(['slow', 'fast', 'fast', 'slow'], order)

    def test_the_program_ends_though_one_hangs(self):
        before = {*threading.enumerate()}
        scrape.Parallel(1).ask({'stuck': self.hang}, 0.05)
        self.assertTrue(all(
            thread.daemon for thread in {*threading.enumerate()} - before))


@ddt.ddt
class RingTest(Case):

    def read(self, data):
        (self.dir / 'telemetry.jsonl').write_bytes(
            b'{"schema": "serifos-telemetry/1", "begun": 0}\n' + data
            + b'\n{"at":5,"host":"good","volumes":{}}\n')
        return self.ring.read()

    @ddt.data(
        b'{"at":1,"host":"x","started":"now"}',
        b'{"at":1,"host":"x","started":[1]}',
        b'{"at":1,"host":"x","clock":true}', b'{"at":1,"host":["x"]}',
        b'{"at":1,"host":"x","started":1e400}',
        b'{"at":1,"host":"x","fault":5}', b'{"at":true,"host":"x"}',
        b'{"at":1,"host":"x","faults":{"a":1}}',
        b'{"at":1,"host":"x","faults":[]}',
        b'{"at":1,"host":"x","volumes":{"a":[1,2,3,4,5,1' + b'0' * 400
        + b']}}', b'{"at":1,"host":"x","volumes":{"a":[1,2,3,4,5,1e307]}}',
        b'{"at":1,"host":"x","volumes":{"a":[1,2,3,4,5,true]}}',
        b'{"at":1' + b'0' * 10_000 + b',"host":"x"}',
        b'[' * 100_000, b'{"at":1,"a":' * 100_000, b'\xff\xfe{', b'5',
        b'{"at":1,"host":"' + b'x' * 2 ** 23 + b'"}')
    def test_a_line_that_is_none_of_ours(self, line):
        self.assertEqual({'good'}, {
            host for host, its in self.read(line).items() if its})

    @hypothesis.settings(suppress_health_check=[
        hypothesis.HealthCheck.too_slow], max_examples=50)
    @hypothesis.given(strategies.lists(strategies.one_of(strategies.binary(),
                                                         JSON.map(
        lambda value: json.dumps(value).encode())), max_size=4))
    def test_any_lines(self, lines):
        for found in self.read(b'\n'.join(lines)).values():
            for reading in found:
                self.assertTrue(counters.is_time(reading.at))
                self.assertTrue(all(
                    c.are_sane for c in reading.volumes.values()))

    @hypothesis.given(strategies.binary())
    def test_any_file(self, data):
        (self.dir / 'telemetry.jsonl').write_bytes(data)
        self.ring.read()
        self.ring.append({'node1': counters.Reading(5.0)})
        self.assertIn('node1', self.ring.read())

    @ddt.data(float('nan'), 1e400)
    def test_a_reading_that_cannot_be_kept_is_a_fault_of_its_host(self, odd):
        self.ring.append({'x': counters.Reading(5.0, started=odd),
                          'good': counters.Reading(5.0)})
        found = self.ring.read()
        self.assertIn('not finite', found['x'][0].fault)
        self.assertIsNone(found['good'][0].fault)

    def test_no_link_is_followed(self):
        other = self.dir / 'precious'
        other.write_text('precious')
        for name in 'telemetry.jsonl', 'telemetry.lock':
            (self.dir / name).unlink(missing_ok=True)
            os.symlink(other, self.dir / name)
            error = self.assertRaises(
                errors.InputError, self.ring.append,
                {'x': counters.Reading(5.0)})
            self.assertIn('symbolic link', str(error))
            os.unlink(self.dir / name)
        self.assertEqual('precious', other.read_text())

    def test_what_is_no_file(self):
        os.mkfifo(self.dir / 'telemetry.jsonl')
        for act in (self.ring.read,
                    lambda: self.ring.append({'x': counters.Reading(5.0)})):
            self.assertRaises(errors.InputError, act)


class Answers:
    """A session in which all questions but those of boots get this."""

    auth = None

    def __init__(self, doc):
        self.doc = doc

    def request(self, url, method, data=None, **others):
        boots = data and exporter.BOOTED in data['query']
        doc = {'data': {'result': []}} if boots else self.doc
        return Answer((doc if isinstance(doc, str)
                       else json.dumps(doc)).encode())


class Answer:
    status_code, url = 200, 'http://x/'

    def __init__(self, content):
        self.content = content


@ddt.ddt
class PrometheusTest(testtools.TestCase):

    def observed(self, doc):
        return prometheus.Prometheus(
            Answers(doc), 'http://x', label='instance', interval_s=15.0,
            clock=lambda: test_prometheus.NOW).observe(
                [readings.place('a'), readings.place('b', 'node2', 'a')],
                600)

    def answer(self, *more):
        return {'data': {'result': [
            *test_prometheus.exported(instance='node1'), *more]}}

    @ddt.data([['x', '1']], [[1, 1]], [[1]], [1], [[-1, '1']], [[1, 'x']],
              [[10 ** 300, '1']], [None])
    def test_samples_that_are_none_cost_their_host(self, values):
        seen = self.observed(self.answer(
            *test_prometheus.exported(instance='node2'),
            {'metric': {'instance': 'node2'}, 'values': values}))
        self.assertEqual({'a'}, {*seen.volumes})
        self.assertIn('Prometheus sent of it', seen.missing['b'])

    @ddt.data(*ABSURD)
    def test_figures_that_are_none_cost_their_volume(self, value):
        broken = test_prometheus.exported(instance='node2')
        broken[0]['values'][-1][1] = value
        seen = self.observed(self.answer(*broken))
        self.assertEqual({'a'}, {*seen.volumes})
        self.assertIn('is out of range', seen.missing['b'])

    @ddt.data('[' * 100_000, '5', '{"data": {"result": 1}}', 'NaN',
              '{"data": 1e400}', '{"data": {"result": [5]}}')
    def test_what_is_no_prometheus_is_one_sentence(self, text):
        error = self.assertRaises(errors.CloudError, self.observed, text)
        self.assertIn('does not answer', str(error))

    @ddt.data(hostile.BODY, hostile.ENDLESS)
    def test_a_server_without_an_end_is_one_sentence(self, talk):
        place = self.enterContext(hostile.serving(talk))
        with hostile.taking_at_most(self, 1.4):
            error = self.assertRaises(
                errors.CloudError, prometheus.Prometheus(
                    http.session(timeout_s=0.3, max_bytes=2 ** 18),
                    f'http://{place}', label='instance', interval_s=15.0
                ).observe, [readings.place('a')], 600)
        self.assertRegex(str(error), 'within 0.3 s|longer than 0.25 MiB')

    @hypothesis.settings(deadline=None, max_examples=40)
    @hypothesis.given(JSON)
    def test_any_answer(self, doc):
        try:
            self.observed(doc)
        except errors.CloudError:
            pass

    @hypothesis.settings(deadline=None, max_examples=40)
    @hypothesis.given(JSON)
    def test_any_answer_of_gnocchi(self, doc):
        try:
            gnocchi.Gnocchi(
                Answers(doc), 'http://x',
                lambda: {'a': ('i-1', '/dev/vdb', 0.0)},
                granularity_s=300.0).observe(
                    [readings.place('a')], 600)
        except errors.CloudError:
            pass
