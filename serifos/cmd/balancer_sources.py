# SPDX-License-Identifier: Apache-2.0
"""From the configuration to the adapters that the balancer works with."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import functools
import pathlib
import signal
import threading
import time

from cliff import command
from keystoneauth1 import exceptions
from keystoneauth1 import loading
from keystoneauth1 import plugin
from oslo_config import cfg
from oslo_log import log

from serifos import activity
from serifos.balancer import act
from serifos.balancer import cycle
from serifos.balancer import lead
from serifos.balancer import settings as sg
from serifos.cmd import app
from serifos.cmd import progress
from serifos.conf import telemetry as options
from serifos.database import connection
from serifos.database import journal
from serifos import errors
from serifos import owners
from serifos.plan import limits
from serifos.telemetry import http
from serifos.telemetry import prometheus
from serifos.telemetry import ring as ringfile
from serifos.telemetry import scrape
from serifos import volumes
from serifos.web import session


LOG = log.getLogger(__name__)

_Stopped = Callable[[], bool] | None


class _Stop:
    """What SIGINT and SIGTERM do: end it at once, or at a safe point."""

    def __init__(self) -> None:
        self._told = threading.Event()
        self._gently = False

    def pause(self, seconds: float) -> bool:
        """Waits so long; True where we shall stop."""
        return self._told.wait(seconds)

    def _signalled(self, *_: object) -> None:
        self._told.set()
        if not self._gently:
            raise KeyboardInterrupt

    @contextlib.contextmanager
    def handled(self) -> Iterator[None]:
        numbers = signal.SIGINT, signal.SIGTERM
        before = [signal.signal(number, self._signalled)
                  for number in numbers]
        try:
            yield
        finally:
            for number, handler in zip(numbers, before):
                signal.signal(number, handler)

    @contextlib.contextmanager
    def gently(self) -> Iterator[None]:
        self._gently = True
        try:
            yield
        finally:
            self._gently = False
        if self._told.is_set():
            raise KeyboardInterrupt


class _AsOwner(command.Command):
    """Where root runs it, it works as whom the state_dir belongs to."""

    def run(self, parsed_args: argparse.Namespace) -> int:
        owners.work_as_owner(self.app.conf.serifos.state_dir)
        return super().run(parsed_args)


class Verb(app.Fails, _AsOwner):
    """A verb that works on the real cloud."""

    _stop: _Stop

    def balancer(self, pause: Callable[[float], bool] | None = None,
                 window_s: float | None = None) -> cycle.Balancer:
        """The balancer of the configuration as it is now.

        :param pause: waits for so many seconds; True where we shall stop
        :param window_s: in place of [telemetry] window
        :raises SerifosError: where the configuration does not serve
        """
        conf = self.app.conf
        wanted = settings(conf, window_s)
        pause = pause or _sleep
        stopped = functools.partial(pause, 0)
        return cycle.Balancer(
            cinder(conf, stopped), telemetry(conf, stopped), self.journal(),
            wanted, time.time, pause)

    def journal(self) -> journal.Journal:
        """:raises InputError: where there is no state_dir"""
        wanted = settings(self.app.conf)
        if not wanted.state_dir.is_dir():
            raise errors.InputError(
                f'There is no directory {wanted.state_dir}; make it, or set '
                '[serifos] state_dir.')
        return journal.Journal(database(self.app.conf), time.time,
                               wanted.old_journal_file)

    def gather(self, balancer: cycle.Balancer) -> None:
        """Takes readings where the source has too few of its own.

        It goes on taking them in the background until the program ends.
        """
        source = balancer.telemetry
        if not isinstance(source, scrape.Scrape):
            return
        with progress.shown() as show:
            source.gather(
                balancer.settings.window_s,
                lambda held, wanted: show(
                    'telemetry, seconds', int(held), int(wanted),
                    wanted - held))
        threading.Thread(
            target=_scrape, daemon=True,
            args=(source, self.app.conf.telemetry.interval)).start()

    @contextlib.contextmanager
    def acting(self, window_s: float | None) -> Iterator[cycle.Balancer]:
        """A balancer that no other acts beside, and that a signal stops.

        It ends at once, but for what is done :meth:`gently`.

        :raises InputError: where another one acts
        :raises Interrupted: where it was stopped
        """
        self._stop = _Stop()
        try:
            with self._stop.handled():
                balancer = self.balancer(self._stop.pause, window_s)
                with lead.Lead(lock_url(self.app.conf),
                               balancer.journal) as leading:
                    yield balancer.under(leading.journal, leading.prove)
        except KeyboardInterrupt:
            raise errors.Interrupted(
                'Stopped; nothing more was asked of Cinder.') from None

    def gently(self) -> contextlib.AbstractContextManager[None]:
        """A signal has what is done in it end at its next safe point."""
        return self._stop.gently()

    def confirm(self, question: str, parsed_args: argparse.Namespace) -> None:
        """:raises InputError: where the user does not say yes"""
        if parsed_args.yes:
            return
        try:
            answer = input(f'{question} Type yes: ')
        except EOFError:
            answer = ''
        if answer.strip().lower() != 'yes':
            raise errors.InputError('Nothing was done: you did not say yes.')


def add_yes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('--yes', action='store_true',
                        help='do not ask before volumes are touched')


def add_window(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--window', type=float, metavar='SECONDS', help='of activity to look '
        'at, at least 30 (default: [telemetry] window)')


_KEPT_S = 900.0
"""Of readings at least: what tells that a migration is forgotten."""


def _scrape(source: scrape.Scrape, seconds: float) -> None:
    while True:
        time.sleep(seconds)
        try:
            source.scrape()
        except errors.SerifosError as exc:
            LOG.warning('%s', exc)


def _sleep(seconds: float) -> bool:
    time.sleep(seconds)
    return False


def settings(conf: cfg.ConfigOpts,
             window_s: float | None = None) -> sg.Settings:
    """What [serifos], [balancer] and [telemetry] say.

    :param window_s: in place of [telemetry] window
    :raises InputError: where the window is under 30 s or over a week
    """
    said = conf.balancer
    if window_s is None:
        window_s = float(conf.telemetry.window)
    if not 30 <= window_s <= options.MOST_WINDOW_S:
        raise errors.InputError(
            f'A window of {window_s:g} s cannot be looked at; give from 30 s '
            f'to {options.MOST_WINDOW_S} s, a week.')
    return sg.Settings(
        pathlib.Path(conf.serifos.state_dir),
        pathlib.Path(conf.serifos.models_dir),
        limits.Limits(said.min_gain, said.max_moves, said.active_floor),
        act.Patience(
            poll_s=said.poll_interval, timeout_s=said.migration_timeout,
            timeout_per_gib_s=said.migration_timeout_per_gib,
            back_off_s=said.back_off),
        planner=said.planner, auto=said.mode == 'auto', batch=said.batch,
        interval_s=said.interval, window_s=window_s,
        settle_s=window_s if said.settle is None else said.settle,
        cool_down_s=said.cool_down, plan_ttl_s=said.plan_ttl,
        max_failures=said.max_failures, allow_attached=said.allow_attached,
        excluded_projects=frozenset(said.excluded_projects))


def lock_url(conf: cfg.ConfigOpts) -> str:
    return conf.balancer.lock_url or (
        f'file://{pathlib.Path(conf.serifos.state_dir).absolute()}/lock')


def database(conf: cfg.ConfigOpts) -> connection.Database:
    """The database of the journal, as [database] says.

    :raises InputError: where its URL is none
    """
    said = {opt: value for opt, value in conf.database.items()
            if value not in (None, '')}
    url = said.pop('connection', None) or (
        f'sqlite:///{pathlib.Path(conf.serifos.state_dir).absolute()}'
        '/journal.sqlite')
    return connection.Database(url, said)


def cinder(conf: cfg.ConfigOpts, stopped: _Stopped = None) -> volumes.Cinder:
    """Cinder as [cinder] says.

    :param stopped: whether we are to end
    :raises InputError: where that is not enough
    """
    if conf.cinder.noauth_endpoint:
        return volumes.noauth(conf.cinder.noauth_endpoint,
                              conf.cinder.noauth_project_id,
                              stopped=stopped)
    return volumes.keystone(
        keystone(conf, stopped), region_name=conf.cinder.region_name,
        interface=(conf.cinder.valid_interfaces or [None])[0],
        endpoint_override=conf.cinder.endpoint_override)


def telemetry(conf: cfg.ConfigOpts,
              stopped: _Stopped = None) -> activity.Telemetry:
    """The source that [telemetry] names.

    :param stopped: whether we are to end
    :raises InputError: where it lacks something
    """
    said = conf.telemetry
    asking = http.session(
        username=said.username if said.auth == 'basic' else None,
        password=said.password,
        auth=_login(conf) if said.auth == 'keystone' else None,
        cafile=said.cafile, certfile=said.certfile, keyfile=said.keyfile,
        insecure=said.insecure, timeout_s=said.timeout, stopped=stopped,
        max_bytes=(http.EXPORTER_BYTES if said.source == 'scrape'
                   else http.MAX_BYTES))
    if said.source == 'prometheus':
        return prometheus.Prometheus(
            asking, said.prometheus_url, label=said.prometheus_label,
            hosts=said.prometheus_hosts, selector=said.prometheus_selector,
            interval_s=said.interval)
    if said.source == 'gnocchi':
        from serifos.telemetry import gnocchi  # noqa: PLC0415
        return gnocchi.Gnocchi(
            asking, said.gnocchi_url,
            lambda: cinder(conf, stopped).attachments(),
            granularity_s=said.gnocchi_granularity)
    ring = ringfile.Ring(
        conf.serifos.state_dir, keep_s=2 * max(said.window, _KEPT_S))
    return scrape.Scrape(
        asking, said.endpoints, ring, interval_s=said.interval)


def keystone(conf: cfg.ConfigOpts,
             stopped: _Stopped = None) -> session.Session:
    """A session with Keystone's token, by [cinder].

    :raises InputError: where that is not enough
    """
    try:
        return session.Loader().load_from_conf_options(
            conf, 'cinder', auth=_login(conf), stopped=stopped,
            check=volumes.usable)
    except exceptions.ClientException as exc:
        raise errors.InputError(
            f'[cinder] of serifos.conf cannot be used: {exc}') from None


def _login(conf: cfg.ConfigOpts) -> plugin.BaseAuthPlugin:
    try:
        auth = loading.load_auth_from_conf_options(conf, 'cinder')
    except (exceptions.ClientException, cfg.Error) as exc:
        raise errors.InputError(
            f'[cinder] of serifos.conf cannot be used: {exc}') from None
    if auth is None:
        raise errors.InputError(
            'serifos.conf does not say how to reach Cinder; set auth_type '
            'and what goes with it in [cinder].')
    return auth
