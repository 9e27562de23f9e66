# SPDX-License-Identifier: Apache-2.0
"""serifos-sim backtest: replay a history under several policies."""

from __future__ import annotations

import argparse
import shlex
import sys
import time

from cliff import command

from serifos.cmd import app
from serifos.cmd import options
from serifos.cmd import output
from serifos.files import atomic
from serifos.files import documents
from serifos.lab.sim import runner
from serifos.report import table


class Backtest(app.Fails, command.Command):
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
        runner.add_arguments(parser, 'backtest.html and backtest.json')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        from serifos.lab.backtest import backtest_page
        from serifos.lab.backtest import cases
        from serifos.lab.backtest import csv_history
        from serifos.lab.backtest import replay
        began, args = time.monotonic(), parsed_args
        options.check_jobs(args.jobs)
        out = runner.directory(args.out)
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
        document = backtest_page.document({'command': _again()}, scores)
        if out is not None:
            documents.write_json(out / 'backtest.json', document)
            atomic.replace(out / 'backtest.html',
                           backtest_page.page_of(scores, _again()))
        output.show(
            args, document, lambda: '\n\n'.join(map(table.as_text, (
                backtest_page.of_scores(scores),
                backtest_page.of_days(scores)))) + '\n',
            document['policies'])
        runner.took(began, out and out / 'backtest.html')


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


def _again() -> str:
    return ' '.join(['serifos-sim', *map(shlex.quote, sys.argv[1:])])
