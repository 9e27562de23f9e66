# SPDX-License-Identifier: Apache-2.0
"""serifos-sim kinds: every kind of model on simulated devices."""

from __future__ import annotations

import argparse
import time

from cliff import command

from serifos.cmd import app
from serifos.cmd import options
from serifos.cmd import output
from serifos.files import atomic
from serifos.files import documents
from serifos.lab.sim import runner
from serifos.model import kinds
from serifos.report import table


class Kinds(app.Fails, command.Command):
    """Compare every kind of model on simulated devices."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--kind', action='append', dest='kinds', choices=kinds.names(),
            help='a kind to compare; may be given again (default: every '
                 'kind, and auto)')
        parser.add_argument(
            '--runs', action='append', type=int, metavar='N',
            help='also fit to a short design of N runs; may be given again '
                 '(default: 20, 40 and 80)')
        options.add_number(parser, '--drawn', 16, 'N',
                           'number of devices drawn at random')
        options.add_number(parser, '--flash', 8, 'N',
                           'number of devices drawn at random that are '
                           'simulated page by page')
        parser.add_argument(
            '--only-drawn', action='store_true',
            help='leave out the eight named devices')
        options.add_number(
            parser, '--tests', 6, 'N',
            'random tests of each sort, for each number of workloads')
        runner.add_arguments(parser, 'kinds.html and kinds.json')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        from serifos.lab.accuracy import accuracy
        from serifos.lab.accuracy import accuracy_page
        began, args = time.monotonic(), parsed_args
        out = runner.directory(args.out)
        standard = accuracy.AccuracySettings()
        settings = accuracy.AccuracySettings(
            tuple(dict.fromkeys(args.kinds or standard.kinds)),
            tuple(sorted({*(args.runs or standard.runs)})),
            not args.only_drawn, args.drawn, args.flash, args.tests,
            args.seed)
        with runner.Processes(args.jobs) as processes:
            scores = accuracy.run(settings, processes.map)
        if out is not None:
            documents.write_json(out / 'kinds.json',
                                 accuracy_page.document(settings, scores))
            atomic.replace(out / 'kinds.html', accuracy_page.page_of(
                scores, _again(args)))
        output.show(
            args, accuracy_page.document(settings, scores),
            lambda: '\n\n'.join(
                map(table.as_text, accuracy_page.every(scores))) + '\n')
        runner.took(began, out and out / 'kinds.html')


def _again(args: argparse.Namespace) -> str:
    return ' '.join([
        'serifos-sim kinds', *(f'--kind {kind}' for kind in args.kinds or ()),
        *(f'--runs {runs}' for runs in args.runs or ()),
        *['--only-drawn'] * args.only_drawn, f'--drawn {args.drawn}',
        f'--flash {args.flash}',
        f'--tests {args.tests}', f'--seed {args.seed}'])
