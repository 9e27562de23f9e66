# SPDX-License-Identifier: Apache-2.0
"""serifos-sim evaluate: repeat the paper's evaluation, simulated."""

from __future__ import annotations

import argparse
import shlex
import time

from serifos.cmd import listing
from serifos.files import atomic
from serifos.files import documents
from serifos.lab.sim import runner
from serifos.report import table

_PREDICTED = 'latency_us', 'read_p99_us', 'write_p99_us'
_TRUTHS = 'paper', 'other', 'drawn', 'drawn2', 'drawn3', 'serial'


class Evaluate(listing.Single):
    """Compare planners with Cinder's placement on simulated devices."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('--cases', type=int, default=50, metavar='N',
                            help='random cases a testbed (default: 50)')
        parser.add_argument(
            '--truth', action='append', dest='truths', choices=_TRUTHS,
            help='the devices; may be given again. paper: two SSDs fitted to '
                 'Table 6 of the paper; other: two that are not; drawn, '
                 'drawn2, drawn3: two each with features drawn at random; '
                 'serial: two more, in hosts that serve the requests of each '
                 'volume in turn, and volumes of 1 to 32 outstanding '
                 'requests (default: paper and other)')
        parser.add_argument(
            '--kind', action='append', dest='kinds',
            choices=('consolidation', 'outstanding', 'tenant', 'auto'),
            help="the planners' models; may be given again. consolidation "
                 "is built from the paper's sets and predicts as the paper "
                 'prints it, the others are built from the short design '
                 '(default: consolidation and auto)')
        parser.add_argument(
            '--sets', type=int, metavar='N',
            help='build consolidation from a seeded choice of N of the '
                 "paper's 6,187 sets (default: all)")
        parser.add_argument(
            '--tests', type=int, default=100, metavar='N',
            help='random runs of each count from 1 to 5 that the models are '
                 'tested on, and twice as many of 6 to 10 (default: 100)')
        parser.add_argument(
            '--predicts', choices=_PREDICTED, default=_PREDICTED[0],
            help='what the models predict, and planners lower: the mean '
                 'latency, or the 99th percentile of reads or of writes '
                 f'(default: {_PREDICTED[0]})')
        parser.add_argument(
            '--tails', metavar='DATASET',
            help='the simulated 99th percentiles are as many times the means '
                 'as in the runs of this dataset, NAME.jsonl (default: those '
                 'of a busy virtual disk)')
        runner.add_arguments(
            parser, 'evaluation.html, with Figures 2 to 6, and '
            'evaluation.json')
        return parser

    def take_action(self, parsed_args: argparse.Namespace
                    ) -> listing.Listed:
        # The models' statsmodels and scipy take a second to import.
        from serifos.lab.sim import evaluation
        from serifos.lab.sim import evaluation_page
        began, args = time.monotonic(), parsed_args
        out = runner.directory(args.out)
        standard = evaluation.EvaluationSettings()
        settings = evaluation.EvaluationSettings(
            cases=args.cases, seed=args.seed, sets=args.sets,
            tests=args.tests, predicts=args.predicts, tails=args.tails,
            testbeds=tuple(dict.fromkeys(args.truths or standard.testbeds)),
            kinds=tuple(dict.fromkeys(args.kinds or standard.kinds)))
        with runner.Processes(args.jobs) as processes:
            found = evaluation.run(settings, processes.map)
        if out is not None:
            documents.write_json(out / 'evaluation.json', found.to_json())
            atomic.replace(out / 'evaluation.html', evaluation_page.page_of(
                found, _again(args)))
        runner.took(began, out and out / 'evaluation.html')
        return self.shown(found.brief(), lambda: '\n\n'.join(
            map(table.as_text, evaluation_page.every(found))) + '\n')


def _again(args: argparse.Namespace) -> str:
    words = ['serifos-sim evaluate', f'--cases {args.cases}',
             f'--seed {args.seed}',
             *(f'--truth {truth}' for truth in args.truths or ()),
             *(f'--kind {kind}' for kind in args.kinds or ())]
    if args.predicts != _PREDICTED[0]:
        words.append(f'--predicts {args.predicts}')
    if args.tails is not None:
        words.append(f'--tails {shlex.quote(args.tails)}')
    if args.sets is not None:
        words.append(f'--sets {args.sets}')
    if args.tests != 100:
        words.append(f'--tests {args.tests}')
    return ' '.join(words)
