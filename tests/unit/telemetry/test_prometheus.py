# SPDX-License-Identifier: Apache-2.0
"""Hosts and failures in the answers that Prometheus documents.

The functional tests ask a real one.
"""

import json
from urllib import parse

import ddt
import fixtures
from keystoneauth1 import token_endpoint
import testtools

from serifos import errors
from serifos.facts import activity
from serifos.telemetry import exporter
from serifos.telemetry import http
from serifos.telemetry import prometheus
from tests.unit.telemetry import readings

NOW = 10_000.0
TIMES = [NOW - 30, NOW - 15, NOW]


def series(labels, values, times=TIMES):
    return {'metric': labels, 'values': [
        [at, repr(value)] for at, value in zip(times, values)]}


def exported(times=TIMES, **labels):
    """All series of an exporter with these labels: LV a on dm-0."""
    counters = [readings.steady(at) for at in times]
    found = [series({'__name__': name, 'device': 'dm-0', **labels}, values,
                    times)
             for name, values in zip(exporter.COUNTERS, zip(*counters))]
    return [*found, series({
        '__name__': exporter.INFO, 'device': 'dm-0', 'lv_layer': '',
        'lv_name': 'volume-a', 'name': 'vga-volume--a', 'uuid': 'LVM-x',
        'vg_name': 'vga', **labels}, [1] * len(times), times)]


@ddt.ddt
class PrometheusTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.status, self.text, self.asked = 200, None, []
        self.result = exported(instance='node1:9100', job='node')
        self.url = self.enterContext(readings.serving(self.answer))

    def answer(self, method, path, headers, body):
        query = parse.parse_qs(body.decode())['query'][0]
        self.asked.append((method, path, headers, query))
        booted = exporter.BOOTED in query
        return self.status, self.text or json.dumps({
            'status': 'success', 'data': {
                'resultType': 'matrix',
                'result': [] if booted else self.result}})

    def observed(self, host='node1', session=None, **others):
        return prometheus.Prometheus(
            session or http.session(), self.url, clock=lambda: NOW,
            **{'label': 'instance', 'interval_s': 15.0, **others}
            ).observe([readings.place('a', host)], 600)

    def test_the_samples_of_a_range_are_asked_for(self):
        seen = self.observed(selector=' job="node", ')
        self.assertAlmostEqual(1000, seen.volumes['a'].mean.iops)
        self.assertEqual(30, seen.volumes['a'].seconds)
        method, path, _, query = self.asked[0]
        self.assertEqual(('POST', '/api/v1/query'), (method, path))
        self.assertTrue(query.startswith('{__name__=~"node_disk_'), query)
        self.assertTrue(query.endswith('",job="node"}[660s]'), query)

    def test_hosts_are_asked_for_some_at_a_time(self):
        """Host by host, and none that nobody asks for."""
        self.useFixture(fixtures.MonkeyPatch(
            'serifos.telemetry.prometheus.MOST_DEVICES', 1))
        names = 'node10', 'node1', 'node2', 'another'
        whole = {name: exported(instance=f'{name}:9100') for name in names}

        def answer(method, path, headers, body):
            query = parse.parse_qs(body.decode())['query'][0]
            self.asked.append(query)
            if query.startswith('count by (instance)'):
                found = [series({'instance': f'{name}:9100'}, [1], [NOW])
                         for name in names]
            else:
                found = [] if exporter.BOOTED in query else [
                    each for name, its in whole.items() for each in its
                    if f'instance=~"{name}:9100"' in query]
            return 200, json.dumps({'status': 'success', 'data': {
                'resultType': 'matrix', 'result': found}})
        seen = prometheus.Prometheus(
            http.session(), self.enterContext(readings.serving(answer)),
            label='instance', interval_s=15.0, clock=lambda: NOW).observe([
                activity.MeasuredVolume(f'{host}-a', 'a', f'{host}@ssd#ssd')
                for host in ('node1', 'node10', 'node2', 'gone')], 600)
        self.assertEqual({'node1-a', 'node10-a', 'node2-a'},
                         set(seen.volumes))
        self.assertIn('whose label instance names it',
                      seen.missing['gone-a'])
        self.assertEqual(1 + 3 * 2, len(self.asked))
        for query in self.asked:
            self.assertIn(' @ 10000.000', query)

    @ddt.data(
        ('node1', 'node1:9100'), ('node1', 'node1.example.org:9100'),
        ('node1.example.org', 'node1:9100'), ('node1', 'NODE1'),
        ('node1.example.org', 'node1.example.org'),
        ('10.0.0.1', '10.0.0.1:9100'), ('fe80::1', '[fe80::1]:9100'))
    @ddt.unpack
    def test_a_host_is_found_by_its_label(self, host, value):
        self.result = exported(instance=value)
        self.assertEqual({'a'}, set(self.observed(host).volumes))

    @ddt.data(
        ('node1', 'node11:9100'), ('node1', 'localhost:9100'), ('node1', ''),
        ('10.0.0.1', '10.0.0.2:9100'), ('10.0.0.1', '10.0.0.10:9100'))
    @ddt.unpack
    def test_another_host_is_not_taken_for_it(self, host, value):
        self.result = exported(instance=value)
        self.assertIn('whose label instance names it',
                      self.observed(host).missing['a'])

    def test_the_whole_name_goes_before_the_short_one(self):
        self.result = [*exported(instance='node1.a.org:9100'),
                       *exported(instance='node1.b.org:9100')]
        self.assertEqual({'a'}, set(self.observed('node1.b.org').volumes))
        self.assertIn('of node1.a.org and node1.b.org, and either may be it',
                      self.observed('node1').missing['a'])

    @ddt.data('node1:9100', 'node1:9101')
    def test_a_pod_that_was_replaced_is_the_same_exporter(self, instance):
        self.result = [
            *exported(range(9_500, 9_800, 15), instance='node1:9100',
                      pod='exporter-a'),
            *exported(range(9_815, 10_001, 15), instance=instance,
                      pod='exporter-b')]
        seen = self.observed().volumes['a']
        self.assertEqual(495, seen.seconds)
        self.assertAlmostEqual(1000, seen.mean.iops)

    def test_exporters_at_the_same_time_are_told_apart_by_what_differs(self):
        self.result = [
            *exported(range(9_500, 9_700, 15), instance='n', job='x'),
            *exported(range(9_700, 10_001, 15), instance='n', job='y'),
            *exported(range(9_707, 10_001, 15), instance='n', job='z')]
        seen = self.observed('n')
        self.assertIn(
            'Prometheus has 2 node_exporters of it at the same time, '
            '{job="y"} and {job="z"}; choose', seen.missing['a'])

    def test_two_that_were_there_at_once_for_a_moment_cost_no_more(self):
        self.result = [
            *exported(range(9_500, 9_760, 15), instance='n', pod='x'),
            *exported(range(9_740, 10_001, 15), instance='n', pod='y')]
        seen = self.observed('n').volumes['a']
        self.assertEqual(495, seen.seconds)
        self.assertAlmostEqual(1000, seen.mean.iops)

    def test_other_names_may_be_other_hosts(self):
        """Whose boot time would be believed."""
        self.result = [
            *exported(range(9_500, 9_800, 15), instance='node1.a.org'),
            *exported(range(9_815, 10_001, 15), instance='node1.b.org')]
        self.assertIn('choose one in [telemetry] prometheus_hosts',
                      self.observed().missing['a'])

    def test_an_operator_says_which_label_and_which_value(self):
        self.result = [*exported(machine='x1', instance='10.0.0.1:9'),
                       *exported(machine='x2', instance='10.0.0.2:9')]
        self.assertEqual({'a'}, set(self.observed(
            label='machine', hosts={'node1': 'x2'}).volumes))

    def test_a_token_of_keystone_goes_with_the_question(self):
        self.observed(session=http.session(
            auth=token_endpoint.Token(self.url, 'secret')))
        self.assertEqual('secret', self.asked[0][2]['X-Auth-Token'])

    @ddt.data(
        (401, 'x', 'refuses the login'), (403, 'x', 'refuses the login'),
        (503, 'starting', 'answers HTTP 503 Service Unavailable: starting'),
        (200, '<html>', 'does not answer with JSON'),
        (200, '[]', 'does not answer as a Prometheus'),
        (200, '{"status": "success"}', 'does not answer as a Prometheus'),
        (200, '{"data": {"result": [{}]}}', 'as a Prometheus'),
        (200, '{"data": {"result": [{"metric": {}, "value": [1, "1"]}]}}',
         'as a Prometheus'), (0, '', 'does not answer'))
    @ddt.unpack
    def test_what_is_no_answer(self, status, text, why):
        self.status, self.text = status, text
        error = self.assertRaises(errors.CloudError, self.observed)
        self.assertIn(why, str(error))


@ddt.ddt
class SessionTest(testtools.TestCase):

    @ddt.data(
        ({'keyfile': 'key.pem'}, 'certificate that belongs to it'),
        ({'username': 'u', 'auth': object()}, 'exclude each other'))
    @ddt.unpack
    def test_what_does_not_go_together(self, options, why):
        self.assertIn(why, str(self.assertRaises(
            errors.InputError, http.session, **options)))

    def test_a_file_of_certificates_that_is_not_there(self):
        url = self.enterContext(readings.serving(lambda *asked: (200, '')))
        error = self.assertRaises(
            errors.CloudError, http.ask, http.session(cafile='/no/ca.pem'),
            url.replace('http:', 'https:'))
        self.assertIn('/no/ca.pem', str(error))
