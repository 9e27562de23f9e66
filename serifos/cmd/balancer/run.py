# SPDX-License-Identifier: Apache-2.0
"""serifos-balancer observe and run."""

from __future__ import annotations

import argparse
from collections.abc import Callable
import dataclasses
import functools
import logging
import socket
import time

from oslo_config import cfg
from oslo_log import formatters
from oslo_log import log
from oslo_reports import guru_meditation_report as gmr
from oslo_reports import opts as gmr_opts
import pbr.version

from serifos.balancer import daemon
from serifos.balancer import leader
from serifos.balancer.round import Balancer
from serifos.cmd.balancer import adapters
from serifos.cmd.balancer import cloud_verb
from serifos.cmd.balancer import configuration
from serifos.cmd.balancer import databases
from serifos.cmd.balancer import stored_history
from serifos.cmd import listing
from serifos.cmd import options
from serifos.database import rounds as counted
from serifos import errors
from serifos.facts.cluster import Volume
from serifos.report import cluster_text
from serifos.telemetry import remembered

_OURS = 'serifos'


class _Version:
    """The version, for Guru Meditation reports."""

    def product_string(self) -> str:
        return 'serifos'

    def vendor_string(self) -> str:
        return 'The serifos developers'

    def version_string_with_package(self) -> str:
        return pbr.version.VersionInfo('serifos').version_string()


class Observe(cloud_verb.CloudVerb, listing.Listing):
    """Look at pools, services, volumes and their activity, once.

    The observation is written to cluster.json in [serifos] state_dir, for
    the scheduler and for plan.
    """

    document, rows = 'the observation', 'its volumes'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        cloud_verb.add_window(parser)
        options.add_long(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace
                    ) -> listing.Listed:
        balancer = self.balancer(window_s=parsed_args.window)
        self.gather(balancer)
        seen = balancer.observer.observe()
        for hindrance in seen.hindrances():
            self.say(hindrance)
        document = seen.cluster.to_json()
        return self.listed(
            document, lambda: cluster_text.text(seen.cluster)
            + f'Written to {balancer.observer.settings.cluster_file}.\n',
            document['volumes'],
            [field.name for field in dataclasses.fields(Volume)])


class Run(cloud_verb.CloudVerb):
    """Observe, plan and, in mode auto, migrate: round after round.

    In mode advise, the default, plans are written and nothing moves. SIGHUP
    reads the configuration again, SIGTERM ends cleanly, SIGUSR2 writes a
    Guru Meditation report to the standard error.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        cloud_verb.add_window(parser)
        parser.add_argument(
            '--once', action='store_true', help='run one round, then end; '
            'take readings for --window where there are none')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        self.app.conf.refuse_unknown()
        if parsed_args.once:
            self._once(parsed_args)
        else:
            self._for_ever(parsed_args.window)

    def _once(self, parsed_args: argparse.Namespace) -> None:
        if self.app.conf.balancer.mode != 'advise':
            with self.acting(parsed_args.window) as balancer:
                self.gather(balancer)
                with self.gently():
                    plan = balancer.round()
        else:
            balancer = self.balancer(window_s=parsed_args.window)
            self.gather(balancer)
            plan = balancer.round()
        _count(self.app.conf, daemon.result(plan))
        if plan is None:
            self.say('no plan was made: see above.')
            self.exit_code = 1
        elif plan.moves:
            print(f'The plan is {plan.id}.')
        else:
            print('There is nothing to move.')
        if plan is not None and plan.unexplained:
            self.exit_code = errors.UNEXPLAINED

    def _for_ever(self, window_s: float | None) -> None:
        conf = self.app.conf
        setup(conf)
        gmr_opts.set_defaults(conf)
        gmr.TextGuruMeditation.setup_autorun(_Version(), conf=conf)
        first = self.balancer(window_s=window_s)  # refuses bad settings
        if first.observer.settings.auto:
            leader.refuse_local_journal(
                configuration.lock_url(conf), first.observer.journal)
        daemon.serve(conf, daemon.Daemon(
            self.maker(window_s),
            functools.partial(_scraper, conf),
            lambda: configuration.lock_url(conf),
            functools.partial(_count, conf)))

    def maker(self, window_s: float | None
              ) -> Callable[[Callable[[float], bool]], Balancer]:
        """(pause) → a balancer of the configuration as it then is.

        It knows what those before read of the history, while the settings by
        which that is read stay the same.
        """
        conf = self.app.conf
        memory = functools.lru_cache(maxsize=1)(lambda _: remembered.Memory())

        def make(pause: Callable[[float], bool]) -> Balancer:
            balancer = self.balancer(pause, window_s)
            return dataclasses.replace(
                balancer, history=stored_history.remembered(
                    balancer.observer.telemetry, balancer.history,
                    memory(repr([*conf.telemetry.items()]))))

        return make


def _scraper(conf: cfg.ConfigOpts, stopped: Callable[[], bool]
             ) -> tuple[Callable[[], object] | None, float]:
    """What takes the readings that the source lacks; seconds between two."""
    readings = adapters.telemetry(conf, stopped).readings
    return (None if readings is None else readings.scrape,
            float(conf.telemetry.interval))


def _count(conf: cfg.ConfigOpts, result: str) -> None:
    """Counts a round of this host, for metrics."""
    counted.Rounds(databases.database(conf), time.time).count(
        socket.gethostname(), result)


class OnceFormatter(logging.Formatter):
    """Formats as another one, which may append the active exception.

    oslo.log does so to every warning and error that is logged while an
    exception is handled; our lines have its sentence already.
    """

    def __init__(self, inner: logging.Formatter) -> None:
        super().__init__()
        self._inner = inner

    def format(self, record: logging.LogRecord) -> str:
        text = self._inner.format(record)
        if record.exc_info or record.name.partition('.')[0] != _OURS:
            return text
        return text.removesuffix(f': {getattr(record, "error_summary", "")}')


def setup(conf: cfg.ConfigOpts) -> None:
    """Begins the log of a service, as it is configured."""
    log.setup(conf, _OURS)
    for handler in logging.getLogger().handlers:
        if isinstance(handler.formatter, formatters.ContextFormatter):
            handler.setFormatter(OnceFormatter(handler.formatter))
