# SPDX-License-Identifier: Apache-2.0
"""serifos-balancer serve, asked over HTTP as Prometheus does."""

import pathlib
import re
import socket
import threading
import time
import urllib.error
import urllib.request

import ddt
from prometheus_client import parser

from serifos.cmd.balancer import cloud_report
from serifos.cmd.balancer import serve
from serifos import conf
from serifos.database import rounds
from serifos import errors
from tests.unit.balancer import cloud
from tests.unit.balancer.cloud import A
from tests.unit.balancer.cloud import B
from tests.unit import case
from tests.unit.cmd import command

DAY_S = 86400
ROOT = pathlib.Path(__file__).parents[3]
NOTHING_REFUSED = {'serifos_plan_refused_volumes'}
"""Metrics that have no sample where no volume stays."""


@ddt.ddt
class ServeTest(cloud.Case):

    def setUp(self):
        super().setUp()
        self.asked = []
        self.now = time.time()
        self.file = self.dir / 'serifos.conf'
        self.file.write_text(f'[serifos]\nstate_dir = {self.dir}\n'
                             f'models_dir = {self.dir}/models\n')
        self.serve()

    def serve(self, *names):
        """Serves, also by these names, until the test is over."""
        self.server = serve.server(
            serve.Pages(conf.load([str(self.file)]), lambda: self.now),
            '127.0.0.1', 0, names)
        self.addCleanup(self.server.task_dispatcher.shutdown)
        self.addCleanup(self.server.close)
        self.address = '127.0.0.1', self.server.effective_port
        self.url = f'http://127.0.0.1:{self.server.effective_port}'
        threading.Thread(target=self.server.run, daemon=True).start()

    def connected(self, sent):
        """A connection on which this was sent."""
        found = socket.create_connection(self.address, 60)
        self.addCleanup(found.close)
        found.sendall(sent)
        return found

    def answer(self, method, path, host='localhost'):
        """(header, body) as they were received."""
        asking = self.connected(f'{method} {path} HTTP/1.1\r\nHost: {host}\r\n'
                                'Connection: close\r\n\r\n'.encode())
        with asking.makefile('rb') as file:
            header, _, body = file.read().decode().partition('\r\n\r\n')
        return header, body

    def get(self, path, **others):
        """(status, text)."""
        asked = urllib.request.Request(self.url + path, **others)
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}))
        try:
            with opener.open(asked, timeout=case.PATIENCE_S) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as exc:
            return exc.code, exc.read().decode()

    def metrics(self):
        """Name, or (name, value of each label by its name) → value."""
        status, text = self.get('/metrics')
        self.assertEqual(200, status, text)
        return {(sample.name, *(sample.labels[label] for label in sorted(
            sample.labels))) if sample.labels else sample.name: sample.value
                for family in parser.text_string_to_metric_families(text)
                for sample in family.samples}

    def planned(self, wanted=lambda _: True):
        """The same, once a plan is made and they are as wanted."""
        end = time.monotonic() + case.PATIENCE_S
        while not ((found := self.metrics()).get('serifos_plan_moves')
                   is not None and wanted(found)):
            self.assertLess(time.monotonic(), end, found)
            time.sleep(0.05)
        return found

    def slow(self):
        """Makes each plan wait; set what is returned to go on."""
        go_on, make = threading.Event(), cloud_report.Planned.of
        self.addCleanup(go_on.set)
        self.patch(cloud_report.Planned, 'of', lambda *args: (
            self.asked.append(args), go_on.wait(case.PATIENCE_S),
            make(*args))[-1])
        return go_on

    def test_a_scrape_does_not_wait_for_a_plan(self):
        self.balancer.observer.observe()
        go_on = self.slow()
        self.assertNotIn('serifos_plan_moves', self.metrics())
        self.assertIn('serifos_paused', self.metrics())
        go_on.set()
        self.assertEqual(2, self.planned()['serifos_pool_volumes', A])
        go_on.clear()
        self.crowd('xyz')
        self.balancer.observer.observe()
        for _ in range(3):
            self.assertEqual(2, self.metrics()['serifos_pool_volumes', A])
        self.assertEqual(2, len(self.asked))
        go_on.set()
        self.planned(lambda found: found['serifos_pool_volumes', A] == 3)

    def test_a_failure_is_kept_until_the_next_observation(self):
        self.balancer.observer.observe()

        def fails(*args):
            self.asked.append(args)
            raise errors.InputError('It cannot be planned.')
        make = cloud_report.Planned.of
        self.patch(cloud_report.Planned, 'of', fails)
        self.failed('It cannot be planned.')
        for path in '/metrics', '/metrics', '/':
            self.assertEqual((503, 'It cannot be planned.\n'),
                             self.get(path))
        self.assertEqual(1, len(self.asked))
        self.patch(cloud_report.Planned, 'of', make)
        self.balancer.observer.observe()
        self.assertEqual(200, self.get('/')[0])
        self.planned()

    def failed(self, said):
        """Waits until metrics are refused for a reason."""
        case.wait_until(lambda: said in self.get('/metrics')[1])

    def test_pools_and_their_models(self):
        self.cinder.workloads = {'u': cloud.busy(64, 960),
                                 'v': cloud.busy(32, 960)}
        self.balancer.observer.observe()
        found = self.planned()
        for pool, latency, active in (A, 0.00048, 2), (B, 0, 0):
            self.assertAlmostEqual(
                latency, found['serifos_pool_predicted_latency_seconds',
                               pool], delta=latency)
            self.assertEqual(
                active, found['serifos_pool_active_volumes', pool])
            self.assertEqual(1, found['serifos_pool_up', pool])
        self.assertAlmostEqual(
            0.00096, found['serifos_pool_seen_latency_seconds', A])
        self.assertEqual((1, 0), tuple(found['serifos_pool_hot', pool]
                                       for pool in (A, B)))
        self.assertEqual(0.1, found['serifos_model_error_ratio',
                                    'consolidation', 'flat'])
        self.assertEqual(1, found['serifos_plan_moves'])
        self.assertEqual(2.0 ** 30, found['serifos_plan_bytes'])
        self.assertAlmostEqual(
            self.now, found['serifos_observation_timestamp_seconds'], delta=2)

    def test_alerts_dashboard_and_docs_name_what_is_served(self):
        self.cinder.workloads = {'u': cloud.busy(64, 960)}
        self.balancer.round()
        self.journal().take_lead('a-1', 'auto')
        rounds.Rounds(self.shared, time.time).count('a', 'planned')
        found = {name if isinstance(name, str) else name[0]
                 for name in self.planned()}
        for file in ('prometheus/serifos-alerts.yaml',
                     'grafana/serifos-dashboard.json'):
            named = set(re.findall(r'serifos_(?!scheduler_)\w+', (
                ROOT / 'etc/serifos' / file).read_text()))
            self.assertLess(5, len(named))
            self.assertEqual(set(), named - found - NOTHING_REFUSED)
        told = set(re.findall(r'``(serifos_(?!scheduler_)\w+)``', (
            ROOT / 'doc/source/admin/metrics.rst').read_text()))
        self.assertEqual(found - told, {
            f'serifos_pool_predicted_latency_{end}_seconds'
            for end in ('low', 'high')})
        self.assertEqual(set(), told - found - NOTHING_REFUSED)

    def test_a_new_observation_is_told(self):
        self.balancer.observer.observe()
        self.assertEqual(2, self.planned()['serifos_pool_volumes', A])
        self.crowd('xyz')
        self.balancer.observer.observe()
        self.planned(lambda found: found['serifos_pool_volumes', A] == 3)

    def test_rounds_and_who_leads(self):
        for host, result in (('a.x.org', 'planned'), ('a.x.org', 'planned'),
                             ('b-1', 'followed')):
            rounds.Rounds(self.shared, lambda: self.now).count(host, result)
        found = self.metrics()
        self.assertEqual(2, found['serifos_rounds_total', 'a.x.org',
                                  'planned'])
        self.assertEqual(self.now, found[
            'serifos_round_timestamp_seconds', 'b-1', 'followed'])
        self.assertEqual(0, found['serifos_leader', 'b-1'])
        self.journal().take_lead('b-1-4711', 'auto')
        found = self.metrics()
        self.assertEqual((0, 1), tuple(
            found['serifos_leader', host] for host in ('a.x.org', 'b-1')))

    def test_a_row_that_nobody_wrote_costs_itself(self):
        counted = rounds.Rounds(self.shared, lambda: self.now)
        for host in 'ab':
            counted.count(host, 'planned')
        self.shared.run(lambda connection: connection.exec_driver_sql(
            "UPDATE serifos_rounds SET host = x'ff' WHERE host = 'a'"))
        found = self.metrics()
        self.assertEqual(1, found['serifos_rounds_total', 'b', 'planned'])

    def test_moves_of_a_day(self):
        self.balancer.round()
        found = self.metrics()
        self.assertEqual(1, found['serifos_day_moves', 'success'])
        self.assertEqual(0, found['serifos_day_moves', 'error'])
        self.assertEqual(2.0 ** 30, found['serifos_day_moved_bytes'])
        self.assertEqual(0, found['serifos_paused'])
        self.journal().write('pause', reason='3 failures')
        self.now += DAY_S + 60
        found = self.metrics()
        self.assertEqual(0, found['serifos_day_moves', 'success'])
        self.assertEqual(1, found['serifos_paused'])

    def test_health(self):
        status, said = self.get('/healthz')
        self.assertEqual(503, status)
        self.assertIn('start serifos-balancer run', said)
        self.balancer.observer.observe()
        self.assertEqual((200, 'OK\n'), self.get('/healthz'))
        self.now += 3600
        status, said = self.get('/healthz')
        self.assertEqual(503, status)
        self.assertIn('The observation is 60 min old', said)

    def test_without_an_observation_moves_are_told_all_the_same(self):
        found = self.metrics()
        self.assertEqual(0, found['serifos_moves_under_way'])
        self.assertNotIn('serifos_plan_moves', found)

    def test_an_observation_that_cannot_be_used(self):
        (self.dir / 'cluster.json').write_text('{')
        self.failed('cluster.json')
        for path in '/metrics', '/healthz', '/':
            status, said = self.get(path)
            self.assertEqual(503, status)
            self.assertIn('cluster.json', said)
            self.assertNotIn('Traceback', said)

    def test_the_page_is_that_of_the_last_round(self):
        self.balancer.observer.observe()
        page = self.get('/')[1]
        self.assertTrue(page.startswith('<!DOCTYPE html>'), page[:80])
        self.assertIn('<h1 class="verdict">', page)
        self.assertIn('No plan was carried out yet.', page)
        self.balancer.round()
        page = self.get('/')[1]
        self.assertIn('1 success; 1 GiB moved', page)

    def test_the_page_is_made_once_an_interval(self):
        self.balancer.observer.observe()
        first = self.get('/')
        self.journal().write('pause', reason='3 failures in a row')
        self.now += 100
        self.assertEqual(first, self.get('/'))
        self.now += 300
        self.assertIn('3 failures in a row', self.get('/')[1])

    def test_the_page_loads_nothing_and_is_not_kept(self):
        self.balancer.observer.observe()
        with urllib.request.build_opener(urllib.request.ProxyHandler(
                {})).open(self.url + '/', timeout=case.PATIENCE_S) as answer:
            said = answer.headers
        self.assertEqual('text/html; charset=utf-8', said['Content-Type'])
        self.assertEqual('no-store', said['Cache-Control'])
        self.assertIn("default-src 'none'", said['Content-Security-Policy'])
        self.assertIn("; script-src 'sha256-",
                      said['Content-Security-Policy'])
        self.assertEqual('300', said['Refresh'])

    def test_other_paths_and_methods(self):
        status, said = self.get('/')
        self.assertEqual(503, status)
        self.assertIn('There is no observation ', said)
        self.assertEqual(404, self.get('/plans')[0])
        for path in '/metrics', '/healthz', '/plans', '/':
            self.assertEqual(405, self.get(path, method='POST')[0], path)
            self.assertEqual(405, self.get(path, data=b'x')[0], path)

    def test_unfinished_requests_take_no_thread_each(self):
        self.get('/healthz')
        before = threading.active_count()
        for _ in range(50):
            self.connected(b'GET / HTTP/1.1\r\nHost: ')
        self.get('/healthz')  # was accepted after them
        self.assertEqual(before, threading.active_count())

    def test_connections_are_bounded(self):
        asking = [self.connected(b'GET / HTTP/1.1\r\n') for _ in range(220)]
        case.wait_until(lambda: self.server.in_connection_overflow)
        self.assertLessEqual(len(self.server.active_channels), 200)
        for each in asking:
            each.close()
        self.assertEqual(404, self.get('/plans')[0])

    @ddt.data(b'', b'x')
    def test_a_request_that_does_not_become_whole_is_given_up(self, more):
        self.patch(serve, '_READ_S', 1)
        self.serve()
        asking = self.connected(b'GET / HTTP/1.1\r\nX: ')
        asking.settimeout(0.1)

        def closed():
            try:
                asking.sendall(more)
                return asking.recv(1) == b''
            except TimeoutError:
                return False
            except ConnectionError:
                return True
        case.wait_until(closed)

    @ddt.data('rebound.example', 'rebound.example:9756', 'localhost.example',
              '127.0.0.1.example', '[::1', 'a@evil.example')
    def test_a_name_that_is_not_ours_is_refused(self, host):
        self.balancer.observer.observe()
        for path in '/', '/metrics', '/healthz':
            header, body = self.answer('GET', path, host)
            self.assertTrue(header.startswith('HTTP/1.1 421 '), header)
            self.assertIn('--allow-host NAME', body)
            self.assertEqual(1, body.count('\n'))

    @ddt.data('localhost', 'LocalHost:1', '127.0.0.1:9756', '[::1]:9756',
              '10.0.0.1', socket.gethostname(), 'metrics.example:80')
    def test_names_and_addresses_that_are_ours(self, host):
        self.serve('metrics.example')
        self.balancer.observer.observe()
        self.assertEqual('OK\n', self.answer('GET', '/healthz', host)[1])

    @ddt.data('/', '/metrics', '/healthz', '/plans')
    def test_head_is_get_without_the_body(self, path):
        self.balancer.observer.observe()
        self.planned()
        (head, nothing), (header, body) = (
            self.answer(method, path) for method in ('HEAD', 'GET'))
        self.assertEqual('', nothing)
        self.assertIn(f'Content-Length: {len(body.encode())}\r\n', header)
        if path != '/metrics':  # of which each scrape is another
            self.assertEqual(header.partition('Date:')[0],
                             head.partition('Date:')[0])
        self.assertEqual(header.splitlines()[0], head.splitlines()[0])

    def test_a_port_that_is_taken(self):
        port = self.url.rpartition(':')[2]
        for arguments, said in (
                (['--port', port], f'127.0.0.1 port {port} cannot be'),
                (['--port', '99999'], 'choose another with --host'),
                (['--host', 'no.such.invalid'], 'cannot be listened on'),
                (['--host', 'no..such'], 'cannot be listened on')):
            code, out, err = command.balance(
                '--config-file', self.file, 'serve', *arguments)
            self.assertEqual((2, ''), (code, out), err)
            self.assertIn(said, err)
