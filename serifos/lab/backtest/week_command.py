# SPDX-License-Identifier: Apache-2.0
"""serifos-sim week: draw a synthetic history of volumes."""

from __future__ import annotations

import argparse
from typing import Any

from cliff import lister

from serifos.cmd import app
from serifos.cmd import options


class Week(app.Fails, lister.Lister):
    """Draw a synthetic history of volumes and print its statistics.

    Beside each figure is that of the public week of real virtual disks that
    the drawing was tuned to. With --of, the statistics of a history of your
    own instead.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('--out', metavar='FILE',
                            help='write the history to this CSV file, '
                                 'compressed where its name ends in .gz')
        parser.add_argument('--of', metavar='HISTORY',
                            help='print the statistics of this CSV file; '
                                 'nothing is drawn')
        parser.add_argument('--keep', metavar='DIR',
                            help='also keep the history in this directory, '
                            'a new state_dir, as serifos-balancer run does')
        options.add_number(parser, '--latency', 1000, 'US',
                           'microseconds that each request took, with --keep')
        options.add_number(parser, '--volumes', 81, 'N', 'volumes')
        options.add_number(parser, '--days', 7, 'N', 'days')
        options.add_number(parser, '--step', 300, 'SECONDS',
                           'seconds of a slot')
        options.add_seed(parser, 'all random numbers')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        from serifos.facts import fields
        from serifos.lab.backtest import csv_history
        from serifos.lab.backtest import keeping
        from serifos.lab.backtest import weeks
        args = parsed_args
        fields.refuse_outside('--latency', args.latency, 1, 10 ** 9, 'us')
        if args.of:
            series = csv_history.read(args.of).series
        else:
            series, size_gib = weeks.drawn(weeks.Week(
                args.volumes, args.days, args.step, args.seed))
            if args.out:
                csv_history.write(args.out, series, size_gib)
                self.note(f'The history is {args.out}.')
        if args.keep:
            path = keeping.keep(series, args.keep, args.latency)
            self.note(f'The history is kept in {path}.')
        return ('figure', 'history', 'real week'), [
            (each.name, f'{each.found:.3g}',
             '–' if each.target is None else f'{each.target:.3g}')
            for each in weeks.figures(series)]
