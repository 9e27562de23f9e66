# SPDX-License-Identifier: Apache-2.0
"""serifos-model design: what would be run, and for how long."""

from __future__ import annotations

import argparse
from typing import Any

from cliff import lister

from serifos.cmd import app
from serifos.cmd.model import condition_options
from serifos.cmd.model import design_options
from serifos.design import design
from serifos import errors


class Design(app.Fails, lister.Lister):
    """Print how many runs a design has, and the hours they take."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        design_options.add_arguments(parser)
        condition_options.add_arguments(parser.add_argument_group(
            'with --study'))
        parser.add_argument(
            '--study', action='store_true',
            help="print the paper's study of single workloads, of 660 runs")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        if condition_options.conditions(parsed_args) and not parsed_args.study:
            raise errors.InputError(
                '--file-set-gibs and --schedulers are of a study; give '
                '--study, or leave them out.')
        chosen = (design_options.study(parsed_args) if parsed_args.study
                  else design_options.chosen(parsed_args)[0])
        return (('workloads', 'sets', 'rounds', 'seconds', 'hours'),
                [*rows(chosen)])


def rows(chosen: design.Design) -> list[tuple[object, ...]]:
    """A row for each count, and the total."""
    return [
        *((count, number, chosen.rounds, chosen.seconds(count),
           round(chosen.hours(count), 2))
          for count, number in chosen.numbers.items()),
        ('total', chosen.total, chosen.rounds, None,
         round(chosen.hours(), 2))]
