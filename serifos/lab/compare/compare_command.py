# SPDX-License-Identifier: Apache-2.0
"""serifos-model compare-kinds: the errors of every kind on a dataset."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import itertools
import pathlib
from typing import Any
from typing import TYPE_CHECKING

from cliff import lister

from serifos.cmd import app
from serifos.cmd import options
from serifos.cmd import output
from serifos.cmd import paging
from serifos import errors
from serifos.facts import bounds
from serifos.facts.dataset import Dataset
from serifos.facts.dataset import FIGURES
from serifos.facts.dataset import Sample
from serifos.files import documents
from serifos.lab.compare import as_one
from serifos.lab.tuning import options as tuning_options
from serifos.model import fit_runs
from serifos.model import kinds

if TYPE_CHECKING:  # scipy and statsmodels take a second to import
    from serifos.lab.compare import compare
    from serifos.lab.tuning import tuner

_Refused = dict[tuple[str, str], str]


class CompareKinds(app.Fails, lister.Lister):
    """Compare every kind of model on the runs of a dataset.

    Each is fitted on a part of the runs, with its standard settings and
    with tuned ones, and tested on the others: those within the ranges of
    its training, and those beyond.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('dataset', metavar='DATASET',
                            help='the runs, NAME.jsonl, as build writes them')
        parser.add_argument(
            '--predicts', action='append', choices=FIGURES,
            metavar='FIGURE', help='figure of a run that models predict; may '
            f'be given again: {", ".join(FIGURES)} (default: latency_us)')
        parser.add_argument(
            '--kind', action='append', choices=kinds.names(), dest='kinds',
            help='a kind to compare; may be given again (default: all)')
        paging.add_argument(parser, 'the figures')
        parser.add_argument(
            '--no-tune', action='store_true', help='compare the standard '
            'settings, and do not search for better ones; searches are '
            'kept in NAME.compare.jsonl beside the dataset, and the same '
            'command resumes them')
        parser.add_argument(
            '--held-out', type=float, default=0.2, metavar='SHARE',
            help='share of the inner runs that no fit sees (default: 0.2)')
        parser.add_argument(
            '--test', metavar='DATASET', help='also test on all runs of this '
            'dataset, of the same device: outside the ranges, or of several '
            'workloads where DATASET has one')
        parser.add_argument(
            '--test-as-one', action='store_true', help='take each run of '
            '--test, the requests of one workload on several volumes, for '
            'one: rates are summed, latencies are means over all requests')
        options.add_seed(parser, 'the held-out runs and the folds')
        tuning_options.add_arguments(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        # These take a second to import.
        from serifos.lab.compare import compare
        from serifos.lab.compare import compare_page as compare_report
        from serifos.report import measured
        _refuse_absurd(parsed_args)
        dataset = documents.read_dataset(parsed_args.dataset)
        others = _others(parsed_args, dataset)
        figures = [*dict.fromkeys(parsed_args.predicts or ['latency_us'])]
        chosen = [*dict.fromkeys(parsed_args.kinds or kinds.every())]
        of_figure = {}
        for predicts in figures:
            data = fit_runs.runs(dataset.valid(), predicts)
            of_figure[predicts] = data, compare.parts(
                data, parsed_args.seed, parsed_args.held_out)
            if others is not None:
                of_figure[predicts] = compare.with_others(
                    *of_figure[predicts], fit_runs.runs(others, predicts))
        refused: _Refused = {}
        verdicts = []
        with self._searching(parsed_args) as searcher:
            for number, (predicts, kind) in enumerate(
                    itertools.product(figures, chosen)):
                if searcher:
                    searcher.go_on('kinds', number,
                                   len(figures) * len(chosen))
                verdicts += _verdicts(
                    kind, predicts, *of_figure[predicts], parsed_args.seed,
                    searcher, refused)
        for kind, (whose, why) in _reasons(refused).items():
            self.say(f'{kind} was not compared{whose}: {why}')
        if not verdicts:
            raise errors.InputError('No kind can be fitted to the dataset; '
                                    'measure more.')
        paging.write(parsed_args, lambda: compare_report.page_of(
            parsed_args.dataset, verdicts,
            {f: divided for f, (_, divided) in of_figure.items()},
            {kind: why for kind, (_, why) in _reasons(refused).items()},
            measured.of(dataset.header)), self.say)
        parts = [compare.INSIDE, *(
            part for part in (*compare.BEYOND, compare.OTHERS)
            if any(part in verdict.errors for verdict in verdicts))]
        return (('kind', 'settings', 'predicts', 'r2', *(
            part.replace(' ', '_') for part in parts),
            'change', 'p_of_tuning', 'p_of_best', 'values'),
            rows(verdicts, parts))

    @contextlib.contextmanager
    def _searching(self, args: argparse.Namespace
                   ) -> Iterator[tuner.Searcher | None]:
        from serifos.model import quality
        if args.no_tune:
            try:
                yield None
            except KeyboardInterrupt:
                raise errors.Interrupted(
                    'Stopped and nothing was kept; the same command starts '
                    'again.') from None
            return
        path = pathlib.Path(args.dataset).with_suffix('.compare.jsonl')
        with tuning_options.ready(args, path, {
                'dataset': {'sha256': documents.digest(args.dataset)},
                'seed': args.seed, 'folds': quality.FOLDS,
                'part': {'held_out': args.held_out}}) as searcher:
            yield searcher


def _others(args: argparse.Namespace, dataset: Dataset
            ) -> tuple[Sample, ...] | None:
    """The runs to test on, None where there are none.

    :raises InputError: where they are of another device, or not as asked
    """
    path = args.test
    if path is None:
        return None
    others = documents.read_dataset(path)
    apart = dataset.header.differences(others.header)
    if apart:
        raise errors.InputError(
            f'{path} is not of the same device ({"; ".join(apart)}); test on '
            'runs of the one that the kinds are fitted on.')
    found = others.valid()
    if args.test_as_one:
        found = tuple(map(as_one.as_one, found))
    others.refuse_common(dataset, path)
    return found


def _refuse_absurd(args: argparse.Namespace) -> None:
    tuning_options.options(args)
    bounds.refuse_outside('--seed', args.seed, 0)
    paging.refuse_absurd(args)
    if args.test_as_one and args.test is None:
        raise errors.InputError('--test-as-one is of the runs of --test; '
                                'give that too, or leave it out.')


def _verdicts(kind: str, predicts: str, data: fit_runs.Runs,
              divided: compare.Parts, seed: int,
              searcher: tuner.Searcher | None, refused: _Refused
              ) -> Iterator[compare.Verdict]:
    """A kind with its standard settings, then with tuned ones."""
    from serifos.lab.compare import compare
    try:
        yield compare.judge(kind, predicts, data, divided)
        if searcher is None or not kinds.of(kind).settings:
            return
        trace = searcher.search(
            kind, predicts, data.some(divided.training), seed, {})
        yield compare.judge(kind, predicts, data, divided,
                            trace.settings(trace.best))
    except errors.Interrupted:
        raise
    except compare.UNFIT as exc:
        refused[kind, predicts] = ' '.join(str(exc).split()) or repr(exc)


def _reasons(refused: _Refused) -> dict[str, tuple[str, str]]:
    """Kind → (for which figures, where not for all alike; why)."""
    found: dict[str, tuple[str, str]] = {}
    for (kind, predicts), why in refused.items():
        whose = [f for (k, f) in refused if k == kind]
        found[kind] = f' for {", ".join(whose)}', why
    return found


def rows(verdicts: Sequence[compare.Verdict],
         parts: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """A row for each verdict, then the mean over several figures."""
    from serifos.lab.compare import compare
    for line in compare.lines(verdicts):
        yield (line.kind, 'tuned' if line.tuned else 'standard',
               line.predicts, output.number(line.r2, '.3g'),
               *(output.percent(line.mre.get(part)) for part in parts),
               output.number(line.change, '+.1%'),
               output.number(line.p_of_tuning, '.3g'),
               output.number(line.p_of_best, '.3g'),
               output.figures(line.settings))
