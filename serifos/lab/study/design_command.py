# SPDX-License-Identifier: Apache-2.0
"""serifos-model design: how many runs a design has, and for how long."""

from __future__ import annotations

import argparse
from typing import Any

from cliff import lister

from serifos.cmd import app
from serifos.cmd.model import design_options
from serifos.cmd import output
from serifos.design import design as run_design
from serifos import errors
from serifos.lab.study import options


class Design(app.Fails, lister.Lister):
    """Print how many runs a design has, and the hours they take."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        design_options.add_arguments(parser)
        parser.add_argument(
            '--study', action='store_true',
            help='print what serifos-model study measures with these options: '
                 'short studies, or all runs with --full')
        design_options.add_conditions(parser.add_argument_group(
            'with --study'))
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        return (('workloads', 'sets', 'rounds', 'seconds', 'hours'),
                [*_rows(_design(parsed_args))])


def _design(args: argparse.Namespace) -> run_design.Design:
    """The design that the options ask for."""
    if args.study:
        for name in 'tests', 'enough_error', 'enough_gain':
            if getattr(args, name) is not None:
                raise errors.InputError(
                    f'--{name.replace("_", "-")} is not of a study; leave '
                    'it or --study out.')
        return options.chosen(args)
    if design_options.conditions(args):
        raise errors.InputError(
            '--file-set-gibs and --schedulers are of a study; give '
            '--study, or leave them out.')
    return design_options.chosen(args)[0]


def _rows(chosen: run_design.Design) -> list[tuple[object, ...]]:
    """A row for each count, and the total."""
    return [
        *((count, number, chosen.rounds, chosen.seconds(count),
           round(chosen.hours(count), 2))
          for count, number in chosen.numbers.items()),
        ('total', chosen.total, chosen.rounds, output.Cell(None, '–'),
         round(chosen.hours(), 2))]
