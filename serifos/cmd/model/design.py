# SPDX-License-Identifier: Apache-2.0
"""serifos-model design: what would be run, and for how long."""

from __future__ import annotations

import argparse
from typing import Any

from cliff import lister

from serifos.cmd import app
from serifos.cmd import cells
from serifos.cmd.model import design_options
from serifos.design import design as run_design


class Design(app.Fails, lister.Lister):
    """Print how many runs a design has, and the hours they take."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        design_options.add_arguments(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        return (('workloads', 'sets', 'rounds', 'seconds', 'hours'),
                [*rows(self.design(parsed_args))])

    def design(self, args: argparse.Namespace) -> run_design.Design:
        """The design that the options ask for."""
        return design_options.chosen(args)[0]


def rows(chosen: run_design.Design) -> list[tuple[object, ...]]:
    """A row for each count, and the total."""
    return [
        *((count, number, chosen.rounds, chosen.seconds(count),
           round(chosen.hours(count), 2))
          for count, number in chosen.numbers.items()),
        ('total', chosen.total, chosen.rounds, cells.Cell(None, '–'),
         round(chosen.hours(), 2))]
