# SPDX-License-Identifier: Apache-2.0
"""serifos-sim backtest: replay a history under several policies."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import dataclasses
import shlex
import sys
import time
import typing
from typing import Any

from serifos.cmd import listing
from serifos.cmd import options
from serifos.files import documents
from serifos.lab.sim import runner
from serifos.report import table

if typing.TYPE_CHECKING:
    from serifos.lab.backtest.replay import Score

SCHEMA = 'serifos-backtest/1'


class Backtest(listing.Listing):
    """Replay a history of volumes under several policies.

    The history is CSV: volume,begin,seconds,read_iops,write_iops,read_mib_s,
    write_mib_s and, where it is known, size_gib. Simulated pools serve these
    rates, and the balancer's own rounds observe, plan and migrate. No cloud is
    touched.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('history', metavar='HISTORY',
                            help='the CSV file, or one that ends in .gz')
        parser.add_argument('--models', required=True, metavar='DIR',
                            help='the directory with the models by which is '
                                 'planned')
        parser.add_argument(
            '--policy', action='append', dest='policies', metavar='POLICY',
            help="cinder: Cinder places volumes by free capacity, and nothing "
                 'moves; stay: nothing moves from where --cluster has it; or '
                 'a planner, such as relieve or bfd. Options of the policy '
                 'may follow, as in relieve:window=86400,hold=1; may be given '
                 'again (default: cinder and relieve)')
        parser.add_argument(
            '--option', action='append', default=[], dest='settings',
            metavar='NAME=VALUE',
            help='an option of [balancer] or [telemetry] for all policies; '
                 'may be given again')
        options.add_number(parser, '--days', 7.0, 'N',
                           'replay the last so many days')
        options.add_number(parser, '--size-gib', 100.0, 'GIB',
                           'size of a volume without one')
        options.add_number(parser, '--slo', 10.0, 'MS',
                           'SLO of every volume, ms')
        options.add_number(parser, '--scale', 1.0, 'FACTOR',
                           'multiply all demands')
        parser.add_argument(
            '--volume-clear', choices=('zero', 'none'), default='zero',
            help='what Cinder does with the source of a copy afterwards: '
                 'volume_clear of cinder.conf. LVM wipes thick volumes by '
                 'zero; give none for thin volumes')
        _add_pools(parser)
        options.add_seed(parser, 'all random numbers')
        options.add_jobs(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace
                    ) -> listing.Listed:
        from serifos.lab.backtest import cases
        from serifos.lab.backtest import csv_history
        from serifos.lab.backtest import replay
        began, args = time.monotonic(), parsed_args
        options.check_jobs(args.jobs)
        asked = cases.Asked(
            args.models, tuple(dict.fromkeys(
                args.policies or cases.Asked.policies)), args.settings,
            args.days, args.size_gib, args.slo, args.scale, args.pools,
            args.pool_gib, documents.read_cluster(args.cluster)
            if args.cluster else None, args.truth, args.drift, args.seed,
            args.add, args.remove, args.other, args.volume_clear,
            self.app.options.config_file)
        made = cases.made(asked, csv_history.read(args.history))
        with runner.Processes(min(args.jobs, len(made))) as processes:
            scores = [*processes.map('Replaying', replay.quietly, made)]
        document = _document(scores)
        runner.took(began, None)
        return self.listed(
            document, lambda: '\n\n'.join(map(table.as_text, (
                _policies(scores), _days(scores)))) + '\n',
            document['policies'])


def _add_pools(parser: argparse.ArgumentParser) -> None:
    """What there is to live on."""
    pools = parser.add_argument_group('pools')
    pools.add_argument(
        '--pools', type=int, metavar='N', help='so many equal pools, of the '
        'models in turn (default: as many as are busy for a quarter of '
        'their time)')
    pools.add_argument(
        '--pool-gib', type=float, metavar='GIB', help='size of each of them '
        '(default: 60 %% are allocated)')
    pools.add_argument(
        '--cluster', metavar='FILE', help='the pools of this cluster.json '
        'instead, with volumes where they are there')
    pools.add_argument(
        '--add-pool', action='append', default=[], dest='add',
        metavar='MODEL[=GIB]', help='what if there were one more, empty at '
        'first; each policy is replayed without and with such changes')
    pools.add_argument(
        '--remove-pool', action='append', default=[], dest='remove',
        metavar='POOL', help='what if there were one fewer')
    pools.add_argument(
        '--model', action='append', default=[], dest='other',
        metavar='MODEL=POOL', help='what if a pool had the other SSD')
    pools.add_argument(
        '--truth', action='append', default=[], metavar='MODEL=DEVICE',
        help='the simulated device behind a model (default: that of its '
             'name, else one that is fitted to it)')
    options.add_number(
        pools, '--drift', 0.1, 'SD', 'how far each pool is off its device: '
        'the standard deviation of the log of each time')


def _document(scores: Sequence[Score]) -> dict[str, Any]:
    """All that is known of the scores."""
    again = ' '.join(['serifos-sim', *map(shlex.quote, sys.argv[1:])])
    return {'schema': SCHEMA, 'settings': {'command': again}, 'policies': [
        {**dataclasses.asdict(score), 'moves_a_day': score.moves_a_day,
         'moves_per_ten_a_week': score.moves_per_ten_a_week}
        for score in scores]}


def _policies(scores: Sequence[Score]) -> table.Table:
    """A row for each policy."""
    return table.Table(
        ('policy', 'pools', 'worst pool, ms', 'p99 of it, ms',
         'SLO violated, volume minutes', 'sd over pools, ms', 'served',
         'moves', 'GiB moved', 'moves a day',
         'moves per 10 volumes, week'),
        [(score.policy, score.pools, score.worst_us / 1e3,
          score.worst_p99_us / 1e3, round(score.slo_minutes),
          score.variance_us2 ** 0.5 / 1e3, table.percent(score.served, '.2f'),
          score.moves, round(score.moved_gib),
          score.moves_a_day, score.moves_per_ten_a_week)
         for score in scores],
        f'{scores[0].volumes:,} volumes, {scores[0].days:g} days')


def _days(scores: Sequence[Score]) -> table.Table:
    """The busiest pool of each day, as a share of its time."""
    return table.Table(
        ('busiest pool, mean of the day', *(
            f'day {day}' for day in range(1, len(scores[0].day_worst) + 1))),
        [(score.policy, *(table.percent(busy, '.0f')
                          for busy in score.day_worst)) for score in scores])
