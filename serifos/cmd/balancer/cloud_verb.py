# SPDX-License-Identifier: Apache-2.0
"""Base of the verbs that ask or change a cloud: signals, confirmation."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import functools
import signal
import threading
import time

from oslo_config import cfg
from oslo_log import log

from serifos.balancer import leader
from serifos.balancer.observe import Observer
from serifos.balancer.round import Balancer
from serifos.cmd.balancer import adapters
from serifos.cmd.balancer import configuration
from serifos.cmd.balancer import databases
from serifos.cmd.balancer import stored_history
from serifos.cmd.balancer import verb
from serifos.cmd import progress
from serifos import errors
from serifos.facts.activity import Readings
from serifos.facts import journal

LOG = log.getLogger(__name__)


class _Stop:
    """SIGINT and SIGTERM: stop at once, or at the next safe point."""

    def __init__(self) -> None:
        self._told = threading.Event()
        self._gently = False

    def pause(self, seconds: float) -> bool:
        """Waits for so many seconds; True where it is to stop."""
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


class CloudVerb(verb.Verb):
    """A verb that works on the real cloud."""

    _stop: _Stop

    def balancer(self, pause: Callable[[float], bool] | None = None,
                 window_s: float | None = None) -> Balancer:
        """The balancer of the configuration as it is now.

        :param pause: waits for so many seconds; True where it is to stop
        :param window_s: in place of [telemetry] window
        :raises SerifosError: where the configuration cannot be used
        """
        return balancer_of(self.app.conf, pause, window_s)

    def gather(self, balancer: Balancer) -> None:
        """Takes the readings that the source lacks.

        A thread goes on taking them until the program ends.

        :raises CloudError: where Cinder refuses us, before the minutes that
            the readings take
        """
        observer = balancer.observer
        readings = observer.telemetry.readings
        if readings is None:
            return
        observer.cinder.inventory()
        with progress.shown() as show:
            readings.gather(
                observer.settings.window_s,
                lambda held, wanted: show(
                    'telemetry, seconds', int(held), int(wanted),
                    wanted - held))
        threading.Thread(
            target=_scrape, daemon=True,
            args=(readings, self.app.conf.telemetry.interval)).start()

    @contextlib.contextmanager
    def acting(self, window_s: float | None) -> Iterator[Balancer]:
        """The balancer as the leader, stopped by a signal.

        It stops at once, except within :meth:`gently`.

        :raises InputError: where another one leads
        :raises Interrupted: where it was stopped
        """
        self._stop = _Stop()
        try:
            with self._stop.handled():
                balancer = self.balancer(self._stop.pause, window_s)
                with leader.Lead(configuration.lock_url(self.app.conf),
                                 balancer.observer.journal,
                                 type(self).__name__.lower()) as leading:
                    _refuse_doubt(balancer)
                    yield balancer.as_leader(leading.journal, leading.prove)
        except KeyboardInterrupt:
            raise errors.Interrupted(
                'Stopped; nothing more was requested from Cinder.') from None

    def gently(self) -> contextlib.AbstractContextManager[None]:
        """Within it, a signal stops at the next safe point only."""
        return self._stop.gently()


class Asks(CloudVerb):
    """A verb that asks before volumes are touched."""

    may_be_silent = True

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('--yes', action='store_true',
                            help='do not ask before volumes are touched')
        return parser

    def confirm(self, question: str, parsed_args: argparse.Namespace) -> None:
        """:raises InputError: where the user does not say yes"""
        if parsed_args.yes:
            return
        try:
            answer = input(f'{question} Type yes: ')
        except EOFError:
            answer = ''
        if answer.strip().lower() != 'yes':
            raise errors.InputError('Aborted: type yes to continue.')


def balancer_of(conf: cfg.ConfigOpts,
                pause: Callable[[float], bool] | None = None,
                window_s: float | None = None) -> Balancer:
    """As :meth:`CloudVerb.balancer`."""
    wanted = configuration.settings(conf, window_s)
    pause = pause or _sleep
    stopped = functools.partial(pause, 0)
    source = adapters.telemetry(conf, stopped)
    observer = Observer(
        adapters.cinder(conf, stopped), source, databases.journal(conf),
        wanted, time.time, adapters.nova(conf, stopped),
        adapters.qemu_us(conf, stopped), stored_history.recorder(conf, source),
        stored_history.growth(conf), stored_history.accuracy(conf))
    return Balancer.of(
        observer, databases.plans(conf), pause,
        history=(stored_history.Past.of(conf, source).history
                 if wanted.history_s else None))


def _refuse_doubt(balancer: Balancer) -> None:
    """:raises InputError: where the journal cannot be relied on"""
    why = journal.doubt(balancer.carrier.entries())
    if why is not None:
        raise errors.InputError(
            f'Nothing is moved: {why}. Look at serifos-balancer history, '
            'then serifos-balancer resume.')


def add_window(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--window', type=float, metavar='SECONDS', help='seconds of activity '
        'to observe, at least 30 (default: [telemetry] window)')


def _scrape(readings: Readings, seconds: float) -> None:
    while True:
        time.sleep(seconds)
        try:
            readings.scrape()
        except errors.SerifosError as exc:
            LOG.warning('%s', exc)


def _sleep(seconds: float) -> bool:
    time.sleep(seconds)
    return False
