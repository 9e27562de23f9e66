# SPDX-License-Identifier: Apache-2.0
"""serifos-model coverage: the runs that a benchmark does not cover."""

from __future__ import annotations

import argparse
import itertools
import pathlib
from typing import Any

from cliff import lister

from serifos.cmd import app
from serifos.cmd import options
from serifos.cmd import paging
from serifos import errors
from serifos.facts import fields
from serifos.files import documents

_HEADER = ('dataset', 'run', 'cluster', 'latency_us', 'nearest_covered',
           'distance')


class Coverage(app.Fails, lister.Lister):
    """Print the runs of datasets that a benchmark does not cover.

    The first DATASET is the benchmark. A run is written as its workloads
    are given to predict, write_pct:block_kib:iodepth:random_pct and think
    time where there is one; 4x stands for four of them.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'dataset', metavar='DATASET', nargs='+',
            help='datasets, NAME.jsonl, as build writes them: first that of '
            'the benchmark, then those that it should cover')
        parser.add_argument(
            '--clusters', type=int, metavar='K',
            help='number of clusters (default: the one of 2 to 12 that has '
            'the best silhouette)')
        parser.add_argument(
            '--distance', type=float, metavar='SD',
            help='how far from the benchmark a run is covered, in standard '
            'deviations (default: the distance within which 95 %% of its '
            'different runs have another, if these are 20 or more)')
        options.add_seed(parser, 'the components and clusters')
        paging.add_argument(parser, 'the dendrogram')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        # scikit-learn takes a second to import.
        from serifos.lab.coverage import coverage
        from serifos.lab.coverage import coverage_page
        paths = [pathlib.Path(p) for p in parsed_args.dataset]
        if len(paths) < 2:
            raise errors.InputError(
                'Only a benchmark was given; give the datasets that it '
                'should cover too.')
        fields.refuse_outside('--seed', parsed_args.seed, 0, 2 ** 32 - 1)
        if parsed_args.distance is not None:
            fields.refuse_outside('--distance', parsed_args.distance, 0, 1e6)
        paging.refuse_absurd(parsed_args)
        datasets = [documents.read_dataset(path) for path in paths]
        for path, dataset in zip(paths, datasets):
            if not dataset.valid():
                raise errors.InputError(
                    f'{path} has no run that counts; go on with its build.')
        found = coverage.coverage(*coverage.points(datasets),
                                  parsed_args.clusters, parsed_args.seed,
                                  parsed_args.distance)
        samples = [*itertools.chain(*(d.valid() for d in datasets))]
        rows = [(paths[found.owners[i]].stem, sample.words,
                 int(found.clusters[i]) + 1, round(sample.latency_us, 1),
                 samples[found.nearest[i]].words,
                 round(float(found.distances[i]), 3))
                for i, sample in enumerate(samples)
                if not found.covered[i]]
        for i, path in enumerate(paths[1:], 1):
            self.note(coverage_page.summary(
                found, i, paths[0].stem, path.stem))
            for which in ('reads', 'writes'):
                self.note(f'  {which}: ' + _share(
                    coverage.points([datasets[0], datasets[i]], which),
                    parsed_args))
        paging.write(parsed_args, lambda: coverage_page.page_of(
            found, [path.stem for path in paths], rows, _HEADER,
            [dataset.header for dataset in datasets]), self.say)
        if not rows and parsed_args.formatter == 'table':
            return (), []
        return _HEADER, rows


def _share(parts: Any, parsed_args: argparse.Namespace) -> str:
    from serifos.lab.coverage import coverage
    from serifos.lab.coverage import coverage_page
    (own, others), names = parts
    if not len(others):
        return 'there are none.'
    if not len(own):
        return '0 % covered, for the benchmark has none.'
    try:
        found = coverage.coverage((own, others), names, parsed_args.clusters,
                                  parsed_args.seed, parsed_args.distance)
    except errors.InputError as exc:
        return str(exc)
    return coverage_page.share(found)
