# SPDX-License-Identifier: Apache-2.0
"""serifos-model explain: the figures of a model, and what to do next."""

from __future__ import annotations

import argparse

from cliff import command

from serifos.cmd import app
from serifos.files import documents
from serifos.report import verdict


class Explain(app.Fails, command.Command):
    """Judge whether a model is good enough to plan with, and why."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'model', metavar='MODEL',
            help='a model, NAME.json, as build and fit write it')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        print(verdict.text(documents.read_model(parsed_args.model)), end='')
