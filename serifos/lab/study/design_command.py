# SPDX-License-Identifier: Apache-2.0
"""serifos-model design, of studies too."""

from __future__ import annotations

import argparse

from serifos.cmd.model import condition_options
from serifos.cmd.model import design as model_design
from serifos.design import design as run_design
from serifos import errors
from serifos.lab.study import options


class Design(model_design.Design):
    """Print how many runs a design has, and the hours they take."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--study', action='store_true',
            help='print what serifos-model study measures with these options: '
                 'short studies, or all runs with --full')
        condition_options.add_arguments(parser.add_argument_group(
            'with --study'))
        return parser

    def design(self, args: argparse.Namespace) -> run_design.Design:
        if args.study:
            for name in 'tests', 'enough_error', 'enough_gain':
                if getattr(args, name) is not None:
                    raise errors.InputError(
                        f'--{name.replace("_", "-")} is not of a study; leave '
                        'it or --study out.')
            return options.chosen(args)
        if condition_options.conditions(args):
            raise errors.InputError(
                '--file-set-gibs and --schedulers are of a study; give '
                '--study, or leave them out.')
        return super().design(args)
