# SPDX-License-Identifier: Apache-2.0
"""Requests to hostile servers end in time, on real sockets."""

import logging
import pathlib
import threading

import ddt
import fixtures
from keystoneauth1 import exceptions
from keystoneauth1 import noauth
import testtools

from serifos.facts import strict_json
from serifos import web
from tests.unit.web import hostile

SMALL = 2 ** 18
NEITHER = 'no whole answer within 0.3 s|longer than 0.25 MiB'
LONG_S = 10.0
"""Enough for an answer that comes, on a busy machine."""


@ddt.ddt
class BoundsTest(testtools.TestCase):

    def ask(self, talk, **others):
        place = self.enterContext(hostile.serving(talk))
        session = web.Session(**{
            'timeout': LONG_S, 'max_bytes': SMALL, **others})
        return session.request(f'http://{place}/', 'GET', raise_exc=False)

    def refused(self, *asked, **others):
        with hostile.taking_at_most(self, 1.2):
            return str(self.assertRaises(
                exceptions.ConnectionError, self.ask, *asked, **others))

    @ddt.data(*'HEADERS BODY CHUNKS CONTINUES ENDLESS'.split())
    def test_an_answer_without_an_end(self, name):
        said = self.refused(getattr(hostile, name), timeout=0.3)
        self.assertRegex(said, NEITHER)
        self.assertNotIn('http://', said)  # whoever asks tells the URL

    @ddt.data(('MANY_HEADERS', 'got more than 100 headers'),
              ('LONG_HEADER', 'got more than 65536 bytes'))
    @ddt.unpack
    def test_headers_without_an_end(self, name, why):
        self.assertIn(why, self.refused(getattr(hostile, name)))

    def test_silence(self):
        self.assertIn('within 0.3 s', self.refused(
            hostile.silent, timeout=0.3))

    @ddt.data('HEADERS', 'BODY', 'CHUNKS')
    def test_the_thread_that_reads_ends(self, name):
        self.refused(getattr(hostile, name), timeout=0.1)
        for thread in threading.enumerate():
            if thread.daemon:
                thread.join(60)
                self.assertFalse(thread.is_alive())

    def test_what_is_packed_is_not_unpacked(self):
        self.assertIn('it answers in gzip, which was not asked for',
                      self.refused(hostile.PACKED))

    def test_nothing_packed_is_asked_for(self):
        heads = []

        def talk(connection, over):
            connection.sendall(hostile.body(b'fine'))
        answer = self.ask(talk)
        heads.append(answer.request.headers['Accept-Encoding'])
        self.assertEqual((['identity'], 'fine'), (heads, answer.text))

    def test_redirects_are_within_the_same_time(self):
        def talk(connection, over):
            over.wait(0.05)
            connection.sendall(
                b'HTTP/1.1 302 Found\r\nLocation: http://%s:%d/\r\n'
                b'Connection: close\r\nContent-Length: 0\r\n\r\n' % (
                    b'127.0.0.1', connection.getsockname()[1]))
        self.assertIn('within 0.3 s', self.refused(talk, timeout=0.3))

    def test_another_try_is_within_the_same_time(self):
        place = self.enterContext(hostile.serving(hostile.say(b'')))
        with hostile.taking_at_most(self, 1.2):
            error = self.assertRaises(
                exceptions.ConnectionError, web.Session(timeout=0.3).request,
                f'http://{place}/', 'GET', connect_retries=99,
                connect_retry_delay=0.05)
        self.assertIn('within 0.3 s', str(error))

    def test_a_wait_that_the_server_wants_is_not_heard(self):
        place = self.enterContext(hostile.serving(hostile.say(
            b'HTTP/1.1 503 Busy\r\nRetry-After: 999999\r\n'
            b'Content-Length: 0\r\n\r\n')))
        with hostile.taking_at_most(self, 1.2):
            answer = web.Session(timeout=LONG_S).request(
                f'http://{place}/', 'GET', raise_exc=False,
                status_code_retries=1, status_code_retry_delay=0.05)
        self.assertEqual(503, answer.status_code)

    @ddt.data(b'utf-16', b'idna', b'bogus', b'unicode_escape', b'"')
    def test_whatever_charset_is_told_it_is_read_as_utf_8(self, charset):
        self.assertEqual('ä\ufffd', self.ask(hostile.say(hostile.body(
            'ä'.encode() + b'\xff',
            b'Content-Type: text/plain; charset=' + charset))).text)

    def test_an_answer_that_cannot_be_used(self):
        def check(status, body):
            strict_json.loads(body)
        self.assertIn('cannot be used: it is nested too deeply', self.refused(
            hostile.say(hostile.body(b'[' * 100_000)), check=check))

    def test_a_body_cut_short(self):
        self.assertIn('IncompleteRead', self.refused(hostile.say(
            hostile.HEAD + b'Content-Length: 99\r\n\r\nx')))

    def test_nobody_listens(self):
        with hostile.taking_at_most(self, 1.2):
            error = self.assertRaises(
                exceptions.ConnectFailure, web.Session(timeout=0.3).request,
                'http://127.0.0.1:1/', 'GET')
        self.assertIn('Connection refused', str(error))

    @ddt.data('nosuch.invalid', 'x' * 70 + '.invalid', '[::1', '')
    def test_a_name_without_an_address(self, host):
        self.assertRaises(
            (exceptions.ClientException, ValueError),
            web.Session(timeout=0.3).request, f'http://{host}/', 'GET')

    def test_connections_are_kept_for_the_next_question(self):
        places = set()

        def talk(connection, over):
            places.add(connection.getpeername())
            connection.sendall(hostile.body(b'fine'))
            connection.recv(65536)
            connection.sendall(hostile.body(b'fine'))
        place = self.enterContext(hostile.serving(talk))
        session = web.Session(timeout=LONG_S)
        for _ in range(2):
            session.request(f'http://{place}/', 'GET')
        self.assertEqual(1, len(places))


@ddt.ddt
class StopTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.stop = threading.Event()
        timer = threading.Timer(0.1, self.stop.set)
        timer.start()
        self.addCleanup(timer.join)

    def ask(self, method, timeout):
        place = self.enterContext(hostile.serving(hostile.HEADERS))
        with hostile.taking_at_most(self, 1.4):
            return str(self.assertRaises(
                exceptions.ConnectionError, web.Session(
                    timeout=timeout, stopped=self.stop.is_set).request,
                f'http://{place}/', method, connect_retries=1))

    def test_a_question_is_not_waited_for(self):
        self.assertIn('we were stopped', self.ask('GET', 60.0))

    @ddt.data('POST', 'DELETE', 'PUT')
    def test_what_becomes_of_a_change_is(self, method):
        self.assertIn('within 0.9 s', self.ask(method, 0.9))

    def test_nothing_more_is_asked(self):
        self.stop.set()
        error = self.assertRaises(
            exceptions.ConnectionError,
            web.Session(stopped=self.stop.is_set).request,
            'http://127.0.0.1:1/', 'GET')
        self.assertIn('we were stopped', str(error))


@ddt.ddt
class LoginTest(testtools.TestCase):
    """No password that stands in a URL is shown, and all are used."""

    def setUp(self):
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger(level=logging.DEBUG))

    def asked(self, answer, ask):
        """What was asked, and what was said and logged of it."""
        heard = []

        class Logs(logging.Handler):
            def emit(self, record):
                heard.append(record.getMessage())
        handler = Logs()
        for name in 'keystoneauth', 'urllib3', 'cinderclient':
            logging.getLogger(name).addHandler(handler)
            self.addCleanup(logging.getLogger(name).removeHandler, handler)
        heads = []

        def talk(connection, over):
            connection.sendall(answer)
        place = self.enterContext(hostile.serving(talk))
        try:
            answered = ask(f'http://admin:s3cr%2Ft@{place}')
            heads.append(answered.request.headers.get('Authorization'))
        except Exception as exc:
            heard.append(str(exc))
        said = '\n'.join([*heard, self.log.output])
        self.assertNotIn('s3cr', said)
        self.assertIn(place, said)
        return heads, said

    @ddt.data(
        hostile.body(b'{}'), b'', b'HTTP/1.1 500 No\r\n\r\nbroken',
        hostile.body(b'<html>'), b'nonsense\r\n\r\n',
        b'HTTP/1.1 302 Found\r\nLocation: http://admin:s3cr%2Ft@127.0.0.1:1/'
        b'\r\nContent-Length: 0\r\n\r\n')
    def test_in_the_url_itself(self, answer):
        self.asked(answer, lambda url: web.Session(timeout=LONG_S).request(
            f'{url}/metrics', 'GET', connect_retries=1,
            connect_retry_delay=0.01))

    def test_it_is_used(self):
        heads, _ = self.asked(
            hostile.body(b'{}'), lambda url: web.Session(
                timeout=LONG_S).request(f'{url}/metrics', 'GET'))
        self.assertEqual(['Basic YWRtaW46czNjci90'], heads)

    @ddt.data(('', [None]), ('admin:s3cr%2Ft@', ['Basic YWRtaW46czNjci90']))
    @ddt.unpack
    def test_a_netrc_is_not_used(self, login, used):
        netrc = pathlib.Path(self.useFixture(fixtures.TempDir()).path, 'netrc')
        netrc.write_text('machine 127.0.0.1 login other password no\n')
        self.useFixture(fixtures.EnvironmentVariable('NETRC', str(netrc)))
        heads, _ = self.asked(
            hostile.body(b'{}'), lambda url: web.Session(
                timeout=LONG_S).request(
                    url.replace('admin:s3cr%2Ft@', login), 'GET'))
        self.assertEqual(used, heads)

    def test_in_an_endpoint(self):
        heads, _ = self.asked(
            hostile.body(b'{}'), lambda url: web.Session(
                timeout=LONG_S, auth=noauth.NoAuth(endpoint=url)).request(
                    '/v3', 'GET', endpoint_filter={'service_type': 'x'}))
        self.assertEqual(['Basic YWRtaW46czNjci90'], heads)

    def test_in_an_endpoint_that_overrides(self):
        heads, _ = self.asked(
            hostile.body(b'{}'), lambda url: web.Session(
                timeout=LONG_S).request('/v3', 'GET', endpoint_override=url))
        self.assertEqual(['Basic YWRtaW46czNjci90'], heads)

    def test_it_is_not_given_to_another_server(self):
        heads = []

        def talk(connection, over):
            connection.sendall(hostile.body(b'{}'))
        other = self.enterContext(hostile.serving(talk))
        self.asked(
            b'HTTP/1.1 302 Found\r\nLocation: http://%s/\r\n'
            b'Content-Length: 0\r\n\r\n' % other.encode(),
            lambda url: heads.append(web.Session(timeout=LONG_S).request(
                '/v3', 'GET', endpoint_override=url)) or heads[0])
        self.assertNotIn('Authorization', heads[0].request.headers)
