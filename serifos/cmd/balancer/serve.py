# SPDX-License-Identifier: Apache-2.0
"""serifos-balancer report and serve: the page of the cloud, and metrics."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from concurrent import futures
import contextlib
import ipaddress
import os
import pathlib
import socket
import threading
import time
from typing import Any
from urllib import parse

from cliff import command
from oslo_config import cfg
from oslo_log import log
import prometheus_client
from prometheus_client import registry
import waitress
from waitress import channel
from waitress import server as waitress_server

from serifos.balancer import findings
from serifos.balancer import leader
from serifos.balancer import metrics
from serifos.balancer import planning
from serifos.balancer import plans
from serifos.cmd import app
from serifos.cmd.balancer import cloud_report
from serifos.cmd.balancer import configuration
from serifos.cmd.balancer import databases
from serifos.cmd.balancer import verb
from serifos.cmd import options
from serifos.conf import scheduler
from serifos.database import journal
from serifos.database import rounds
from serifos import errors
from serifos.facts.cluster import Cluster
from serifos.files import atomic
from serifos.files import documents
from serifos.files import owners
from serifos.report import cloud_page
from serifos.report import page

PORT = 9756

_THREADS = 16
"""That answer; a connection takes none before its request is whole."""

_CONNECTIONS = 200
"""At a time; more wait to be accepted."""

_READ_S = 30
"""From the connection, or the last answer, to a whole request."""

_HEADERS = [
    ('Content-Type', 'text/html; charset=utf-8'),
    ('Cache-Control', 'no-store'), ('X-Content-Type-Options', 'nosniff'),
    ('Content-Security-Policy',
     f"{page.policy(cloud_page.SCRIPT)}; frame-ancestors 'none'")]

_Start = Callable[[str, list[tuple[str, str]]], object]


class Report(verb.Verb):
    """Draw the cloud and its plan on one HTML page.

    Is anything slow, because of whom, what will be moved, what it costs,
    what cannot move and why, and did the last plan work: by the last
    observation, the journal and the configuration, as plan judges. Nothing
    is written except the file of --out.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'plan', nargs='?', metavar='PLAN', help='id of a stored plan, or '
            'a file of one (default: plan now)')
        options.add_observation(parser)
        parser.add_argument(
            '--out', metavar='FILE',
            help='write the page to this file (default: standard output)')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        conf, args = self.app.conf, parsed_args
        if args.out:
            atomic.refuse_unwritable(args.out)
        plan = None if args.plan is None else plans.find(
            databases.plans(conf), args.plan)
        cluster = configuration.cluster(conf, args.cluster)
        planning.warn_of_strays(cluster, self.say)
        drawn = cloud_report.text(conf, cloud_report.Planned.of(
            conf, cluster, configuration.models_dir(conf, args.models),
            self.say,
            plan), time.time(), self.say, args.plan)
        if args.out:
            path = pathlib.Path(args.out)
            atomic.replace(path, drawn)
            print(path.resolve())
        else:
            print(drawn)


class Serve(app.Fails, command.Command):
    """Serve the page of the cloud and its metrics; nothing is written.

    / is the page of report, as of the last round. /metrics is for
    Prometheus. /healthz answers 200 while the observation is fresh, else 503
    with the reason. Ends at SIGTERM or Ctrl-C.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--host', default='127.0.0.1', metavar='ADDRESS',
            help='address to listen on; there is no login (default: '
                 '127.0.0.1)')
        parser.add_argument(
            '--port', type=int, default=PORT, metavar='N',
            help=f'port to listen on (default: {PORT})')
        parser.add_argument(
            '--allow-host', action='append', default=[], metavar='NAME',
            help='also answer requests for this name, such as that of a '
                 'proxy; addresses, localhost, the name of this host and '
                 '--host are always answered; may be given several times')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """:raises InputError: where it cannot listen there"""
        conf = self.app.conf
        owners.work_as_owner(conf.serifos.state_dir)
        with contextlib.closing(server(
                Pages(conf), parsed_args.host, parsed_args.port,
                parsed_args.allow_host)) as serving:
            host, port = serving.effective_host, serving.effective_port
            url = f'http://{f"[{host}]" if ":" in host else host}:{port}/'
            self.note(f'Serving {url} and {url}metrics.')
            serving.run()


class _Channel(channel.HTTPChannel):
    """A connection that is closed unless its request becomes whole in time.

    The bytes of an unfinished request do not count as activity.
    """

    def handle_read(self) -> None:
        before = self.last_activity
        super().handle_read()
        if self.request is not None:
            self.last_activity = before


def server(application: Callable[..., Any], host: str, port: int,
           names: Collection[str] = ()) -> waitress_server.BaseWSGIServer:
    """A server that listens, and serves once it is run.

    :param names: by which it may be asked, too
    :raises InputError: where it cannot listen there
    """
    try:
        listening = socket.create_server(
            (host, port),
            family=socket.AF_INET6 if ':' in host else socket.AF_INET)
    except (OSError, OverflowError, ValueError) as exc:
        raise errors.InputError(
            f'{host} port {port} cannot be listened on: {exc}; choose '
            'another with --host and --port.') from None
    found = waitress.create_server(
        _Guard(application, {host, *names, 'localhost',
                             socket.gethostname()}),
        sockets=[listening], threads=_THREADS, asyncore_use_poll=True,
        connection_limit=_CONNECTIONS, channel_timeout=_READ_S,
        cleanup_interval=1, max_request_header_size=2 ** 14,
        max_request_body_size=2 ** 14, ident=None)
    found.channel_class = _Channel
    return found


class _Guard:
    """Refuses requests for the names of others, and answers HEAD.

    The name of another site may resolve to our address (DNS rebinding), but a
    browser still sends that name as Host. An IP address cannot be rebound.
    """

    def __init__(self, application: Callable[..., Any],
                 names: Iterable[str]) -> None:
        self._application = application
        self._names = {name.lower() for name in names}

    def __call__(self, environ: dict[str, Any],
                 start: _Start) -> list[bytes]:
        said: list[Any] = []
        method = environ['REQUEST_METHOD']
        body = b''.join(self._answer(
            {**environ, 'REQUEST_METHOD': 'GET'} if method == 'HEAD'
            else environ, lambda *given: said.append(given)))
        (status, headers), = said
        start(status, [*headers, ('Content-Length', str(len(body)))])
        return [] if method == 'HEAD' else [body]

    def _answer(self, environ: dict[str, Any],
                start: _Start) -> list[bytes]:
        host = environ.get('HTTP_HOST', '')
        return self._application(environ, start) if self._is_ours(
            host) else _text(
                start, '421 Misdirected Request', 'This server is not known '
                f'as {errors.one_line(host)}; if it is to be, start it with '
                '--allow-host NAME.')

    def _is_ours(self, host: str) -> bool:
        try:
            name = parse.urlsplit(f'//{host}').hostname
            if name is None or name in self._names:
                return True
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


class Pages:
    """The WSGI application."""

    def __init__(self, conf: cfg.ConfigOpts,
                 clock: Callable[[], float] = time.time) -> None:
        self._conf = conf
        self._clock = clock
        latest = Latest(conf)
        self._page = Page(conf, latest, clock)
        found = registry.CollectorRegistry()
        found.register(_Collector(conf, latest, clock))
        self._metrics = prometheus_client.make_wsgi_app(found)

    def __call__(self, environ: dict[str, Any],
                 start: _Start) -> list[bytes]:
        path = environ.get('PATH_INFO', '')
        if path == '/metrics':
            try:
                return self._metrics(environ, start)
            except errors.SerifosError as exc:
                return _text(start, '503 Service Unavailable', str(exc))
        if environ.get('REQUEST_METHOD') not in ('GET', 'HEAD'):
            return _text(start, '405 Method Not Allowed', 'Ask with GET.')
        if path == '/healthz':
            why = self._why_unwell()
            return _text(start, '503 Service Unavailable' if why
                         else '200 OK', why or 'OK')
        if path == '/':
            return self._cloud(start)
        return _text(start, '404 Not Found', 'See /, /metrics and /healthz.')

    def _cloud(self, start: _Start) -> list[bytes]:
        try:
            drawn = self._page.text()
        except errors.SerifosError as exc:
            return _text(start, '503 Service Unavailable', str(exc))
        start('200 OK', [*_HEADERS, (
            'Refresh', str(max(60, self._conf.balancer.interval)))])
        return [drawn.encode()]

    def _why_unwell(self) -> str | None:
        try:
            return '\n'.join(finding.text for finding in findings.observation(
                _read(self._conf), self._clock(),
                scheduler.CLUSTER_MAX_AGE_S)) or None
        except errors.SerifosError as exc:
            return str(exc)


def _text(start: _Start, status: str, said: str) -> list[bytes]:
    start(status, [('Content-Type', 'text/plain; charset=utf-8')])
    return [f'{said}\n'.encode()]


def _read(conf: cfg.ConfigOpts) -> Cluster | None:
    file = _observed(conf)
    return documents.read_cluster(file) if file.exists() else None


class _Collector(registry.Collector):
    """The metrics of the files; a scrape waits for no plan.

    Until one of a new observation is made, they are of the one before.
    """

    def __init__(self, conf: cfg.ConfigOpts, latest: Latest,
                 clock: Callable[[], float]) -> None:
        self._conf = conf
        self._latest = latest
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: tuple[object, list[metrics.Metric]] = (None, [])

    def describe(self) -> list[metrics.Metric]:
        """None: what there is depends on the files."""
        return []

    def collect(self) -> Iterator[metrics.Metric]:
        """:raises SerifosError: where a file cannot be used"""
        with self._lock:
            yield from self._of_cloud()
        database = databases.database(self._conf)
        kept = journal.Journal(database, self._clock)
        yield from metrics.of_journal(kept.entries(), self._clock())
        lead = kept.leader()
        yield from metrics.of_rounds(
            rounds.Rounds(database, self._clock).every(),
            leader.host(lead.name) if lead else None)

    def _of_cloud(self) -> list[metrics.Metric]:
        found = self._latest.known()
        if found is None:
            return []
        if self._kept[0] is not found:
            self._kept = found, list(metrics.of_cloud(
                found.seen, found.cluster.observed_at, found.models))
        return self._kept[1]


LOG = log.getLogger(__name__)


def _observed(conf: cfg.ConfigOpts) -> pathlib.Path:
    """The observation of the balancer."""
    return pathlib.Path(conf.serifos.state_dir, 'cluster.json')


class Latest:
    """A plan of the last observation, made anew where that is another.

    In the background, one at a time; a failure stays until the next
    observation.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf
        self._lock = threading.Lock()
        self._version: tuple[int, int] | None = None
        self._making: futures.Future[cloud_report.Planned] = futures.Future()
        self._last: cloud_report.Planned | None = None

    def planned(self) -> cloud_report.Planned | None:
        """That of the last observation, which is waited for.

        :returns: None where there is no observation
        :raises SerifosError: where a file cannot be used
        """
        making = self._begun()
        return None if making is None else _result(making)

    def known(self) -> cloud_report.Planned | None:
        """The last one that is made, at once.

        :returns: None where there is no observation, or no plan yet
        :raises SerifosError: where a file cannot be used
        """
        making = self._begun()
        if making is None:
            return None
        return _result(making) if making.done() else self._last

    def _begun(self) -> futures.Future[cloud_report.Planned] | None:
        """What is being made, or was, of the last observation.

        Of the one before where that still takes.
        """
        try:
            info = os.stat(_observed(self._conf))
        except FileNotFoundError:
            return None
        version = info.st_mtime_ns, info.st_ino
        with self._lock:
            if self._version != version and (
                    self._version is None or self._making.done()):
                self._version, self._making = version, futures.Future()
                threading.Thread(target=self._make, args=(self._making,),
                                 daemon=True).start()
            return self._making

    def _make(self, making: futures.Future[cloud_report.Planned]) -> None:
        try:
            found = cloud_report.Planned.of(
                self._conf, documents.read_cluster(_observed(self._conf)),
                self._conf.serifos.models_dir, lambda _: None)
        except Exception as exc:
            LOG.warning('There is no plan of the last observation: %s', exc,
                        exc_info=not isinstance(exc, errors.SerifosError))
            making.set_exception(exc)
        else:
            self._last = found
            making.set_result(found)


def _result(making: futures.Future[cloud_report.Planned]
            ) -> cloud_report.Planned:
    """:raises SerifosError: where it cannot be made"""
    try:
        return making.result()
    except errors.SerifosError as exc:
        # Raised anew: one exception would grow with each who asks.
        raise type(exc)(*exc.args) from None


class Page:
    """The page, made anew after a round, and after its interval."""

    def __init__(self, conf: cfg.ConfigOpts, latest: Latest,
                 clock: Callable[[], float]) -> None:
        self._conf = conf
        self._latest = latest
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: tuple[object, float, str] = (None, 0.0, '')

    def text(self) -> str:
        """:raises SerifosError: where a file cannot be used"""
        planned = self._latest.planned()
        if planned is None:
            raise errors.InputError(
                f'There is no observation {_observed(self._conf)} yet; '
                'serifos-balancer run makes one.')
        with self._lock:
            of, made_at, _ = self._kept
            now = self._clock()
            if of is not planned or not (
                    0 <= now - made_at < self._conf.balancer.interval):
                self._kept = planned, now, cloud_report.text(
                    self._conf, planned, now, LOG.warning)
            return self._kept[2]
