# SPDX-License-Identifier: Apache-2.0
"""serifos-model compare-kinds: the errors of every kind on datasets."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from collections.abc import Mapping
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
from serifos.facts.dataset import Dataset
from serifos.facts.dataset import FIGURES
from serifos.facts.dataset import Sample
from serifos.facts import fields
from serifos.files import documents
from serifos.lab.tuning import tuning_command
from serifos.model import fit_runs
from serifos.model import kinds

if TYPE_CHECKING:  # scipy and statsmodels take a second to import
    from serifos.lab.compare import compare
    from serifos.lab.tuning import tuner

    _Sets = dict[tuple[str, str], tuple[fit_runs.Runs, compare.Parts]]
    """(dataset, figure) → the runs and how they are divided."""

_Refused = dict[tuple[str, str], str]
"""(kind, figure and dataset) → why it could not be fitted."""


class CompareKinds(app.Fails, lister.Lister):
    """Compare every kind of model on the runs of datasets.

    Each is fitted on a part of the runs, with its standard settings and
    with tuned ones, and tested on the others: those within the ranges of
    its training, and those beyond. Of several datasets it is fitted to each;
    the last rows are the mean over them.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('dataset', metavar='DATASET', nargs='+',
                            help='the runs, NAME.jsonl, as build writes '
                            'them; each of a device')
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
            help='share of the inner runs that no fit sees; 0 fits to every '
            'run of DATASET and tests on those of --test only (default: 0.2)')
        parser.add_argument(
            '--test', metavar='DATASET', action='append',
            help='also test on all runs of this dataset, of the same device: '
            'outside the ranges, or of several workloads where DATASET has '
            'one; may be given again')
        parser.add_argument(
            '--test-as-one', action='store_true', help='take each run of '
            '--test, the requests of one workload on several volumes, for '
            'one: rates are summed, latencies are means over all requests')
        options.add_seed(parser, 'the held-out runs and the folds')
        tuning_command.add_arguments(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        # These take a second to import.
        from serifos.lab.compare import compare
        from serifos.lab.compare import compare_page
        from serifos.report import measured
        _refuse_absurd(parsed_args)
        paths = _named(parsed_args.dataset)
        datasets = {name: documents.read_dataset(path)
                    for name, path in paths.items()}
        others = _others(parsed_args, datasets)
        figures = [*dict.fromkeys(parsed_args.predicts or ['latency_us'])]
        of_set: _Sets = {
            (name, predicts): _divided(
                dataset, others[name], predicts, parsed_args)
            for name, dataset in datasets.items() for predicts in figures}
        refused: _Refused = {}
        verdicts: list[compare.Verdict] = []
        for name, path in paths.items():
            verdicts += self._compared(parsed_args, path, {
                which: found for which, found in of_set.items()
                if which[0] == name}, refused)
        reasons = _reasons(refused)
        for kind, (whose, why) in reasons.items():
            self.say(f'{kind} was not compared{whose}: {why}')
        if not verdicts:
            raise errors.InputError('No kind can be fitted to the dataset; '
                                    'measure more.')
        repeated = [one for name, dataset in datasets.items()
                    for one in compare.spreads(dataset.samples, name)]
        for one in repeated:
            self.note(compare.words(one))
        paging.write(parsed_args, lambda: compare_page.page_of(
            ', '.join(parsed_args.dataset), verdicts,
            {which: divided for which, (_, divided) in of_set.items()},
            {kind: why for kind, (_, why) in reasons.items()}, repeated,
            '\n'.join(measured.of(d.header) for d in datasets.values())),
            self.say)
        parts = [part for part in (
            compare.INSIDE, *compare.BEYOND, compare.OTHERS)
            if any(part in verdict.errors for verdict in verdicts)]
        several = len(datasets) > 1
        return ((*['dataset'] * several, 'kind', 'settings', 'predicts',
                 'r2', *(part.replace(' ', '_') for part in parts),
                 'change', 'p_of_tuning', 'p_of_best', 'values'),
                rows(verdicts, parts, several))

    def _compared(self, args: argparse.Namespace, path: str, of_set: _Sets,
                  refused: _Refused) -> list[compare.Verdict]:
        """The verdicts on one dataset.

        :param refused: gets the kinds that could not be fitted, and why
        """
        kinds_of = [*dict.fromkeys(args.kinds or kinds.every())]
        verdicts: list[compare.Verdict] = []
        with self._searching(args, path) as searcher:
            for number, (which, kind) in enumerate(
                    itertools.product(of_set, kinds_of)):
                if searcher:
                    searcher.go_on('kinds', number,
                                   len(of_set) * len(kinds_of))
                verdicts += _verdicts(kind, which, *of_set[which], args.seed,
                                      searcher, refused)
        return verdicts

    @contextlib.contextmanager
    def _searching(self, args: argparse.Namespace, dataset: str
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
        path = pathlib.Path(dataset).with_suffix('.compare.jsonl')
        with tuning_command.ready(args, path, {
                'dataset': {'sha256': documents.digest(dataset)},
                'seed': args.seed, 'folds': quality.FOLDS,
                'part': {'held_out': args.held_out}}) as searcher:
            yield searcher


def _named(paths: Sequence[str]) -> dict[str, str]:
    """The datasets by name; a single one has none."""
    if len(paths) == 1:
        return {'': paths[0]}
    stems = {pathlib.Path(path).stem: path for path in paths}
    return stems if len(stems) == len({*paths}) else {
        path: path for path in paths}


def _others(args: argparse.Namespace, datasets: Mapping[str, Dataset]
            ) -> dict[str, tuple[Sample, ...] | None]:
    """The runs of each dataset to test on, None where there are none.

    :raises InputError: where they are of another device, or not as asked
    """
    from serifos.lab.compare import compare
    found: dict[str, tuple[Sample, ...] | None] = dict.fromkeys(datasets)
    for path in args.test or ():
        others = documents.read_dataset(path)
        apart = {name: dataset.header.differences(others.header)
                 for name, dataset in datasets.items()}
        its = [name for name in datasets if not apart[name]]
        if not its:
            raise errors.InputError(
                f'{path} is not of the same device '
                f'({"; or ".join(map("; ".join, apart.values()))}); test on '
                'runs of the one that the kinds are fitted on.')
        runs = others.valid()
        if args.test_as_one:
            runs = tuple(map(compare.as_one, runs))
        for name in its:
            others.refuse_common(datasets[name], path)
            found[name] = (found[name] or ()) + runs
    untested = [name for name, runs in found.items() if runs is None]
    if untested and not args.held_out:
        raise errors.InputError(
            f'No run of {untested[0] or "the dataset"} is tested with '
            '--held-out 0; give runs of its device by --test.')
    return found


def _divided(dataset: Dataset, others: Sequence[Sample] | None,
             predicts: str, args: argparse.Namespace
             ) -> tuple[fit_runs.Runs, compare.Parts]:
    """The runs that have a figure, and those to fit to and to test on."""
    from serifos.lab.compare import compare
    data = fit_runs.runs(dataset.valid(), predicts)
    divided = compare.parts(data, args.seed, args.held_out)
    if others is None:
        return data, divided
    return compare.with_others(data, divided, fit_runs.runs(others, predicts))


def _refuse_absurd(args: argparse.Namespace) -> None:
    tuning_command.options(args)
    fields.refuse_outside('--seed', args.seed, 0)
    paging.refuse_absurd(args)
    if args.test_as_one and args.test is None:
        raise errors.InputError('--test-as-one is of the runs of --test; '
                                'give that too, or leave it out.')


def _verdicts(kind: str, which: tuple[str, str], data: fit_runs.Runs,
              divided: compare.Parts, seed: int,
              searcher: tuner.Searcher | None, refused: _Refused
              ) -> Iterator[compare.Verdict]:
    """A kind with its standard settings, then with tuned ones."""
    from serifos.lab.compare import compare
    dataset, predicts = which
    try:
        yield compare.judge(kind, predicts, data, divided, None, dataset)
        if searcher is None or not kinds.of(kind).settings:
            return
        trace = searcher.search(
            kind, predicts, data.some(divided.training), seed, {})
        yield compare.judge(kind, predicts, data, divided,
                            trace.settings(trace.best), dataset)
    except errors.Interrupted:
        raise
    except compare.UNFIT as exc:
        refused[kind, ' of '.join(filter(None, (predicts, dataset)))] = (
            ' '.join(str(exc).split()) or repr(exc))


def _reasons(refused: _Refused) -> dict[str, tuple[str, str]]:
    """Kind → (for which figures, where not for all alike; why)."""
    found: dict[str, tuple[str, str]] = {}
    for (kind, predicts), why in refused.items():
        whose = [f for (k, f) in refused if k == kind]
        found[kind] = f' for {", ".join(whose)}', why
    return found


def rows(verdicts: Sequence[compare.Verdict], parts: Sequence[str],
         several: bool = False) -> Iterator[tuple[Any, ...]]:
    """A row for each verdict, then the mean over several figures.

    :param several: whether there are several datasets, which rows name
    """
    from serifos.lab.compare import compare
    for line in compare.lines(verdicts):
        yield (*[line.dataset] * several, line.kind,
               'tuned' if line.tuned else 'standard', line.predicts,
               output.number(line.r2, '.3g'),
               *(output.percent(line.mre.get(part)) for part in parts),
               output.number(line.change, '+.1%'),
               output.number(line.p_of_tuning, '.3g'),
               output.number(line.p_of_best, '.3g'),
               output.figures(line.settings))
