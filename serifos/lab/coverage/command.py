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
from serifos.facts import bounds
from serifos.files import documents

_HEADER = ('dataset', 'run', 'cluster', 'latency_us', 'nearest_covered',
           'distance')


class Coverage(app.Fails, lister.Lister):
    """Print the runs of datasets that a benchmark does not cover.

    The first DATASET is the benchmark. A run is written as predict takes
    it: write_pct:block_kib:iodepth:random_pct of each of its workloads.
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
        options.add_seed(parser, 'the components and clusters')
        paging.add_argument(parser, 'the dendrogram')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        # scikit-learn takes a second to import.
        from serifos.lab.coverage import coverage
        from serifos.lab.coverage import page
        paths = [pathlib.Path(p) for p in parsed_args.dataset]
        if len(paths) < 2:
            raise errors.InputError(
                'Only a benchmark was given; give the datasets that it '
                'should cover too.')
        bounds.refuse_outside('--seed', parsed_args.seed, 0, 2 ** 32 - 1)
        paging.refuse_absurd(parsed_args)
        datasets = [documents.read_dataset(path) for path in paths]
        for path, dataset in zip(paths, datasets):
            if not dataset.valid():
                raise errors.InputError(
                    f'{path} has no run that counts; go on with its build.')
        found = coverage.coverage(*page.points(datasets),
                                  parsed_args.clusters, parsed_args.seed)
        samples = [*itertools.chain(*(d.valid() for d in datasets))]
        rows = [(paths[found.owners[i]].stem, page.words(sample),
                 int(found.clusters[i]) + 1, round(sample.latency_us, 1),
                 page.words(samples[found.nearest[i]]),
                 round(float(found.distances[i]), 3))
                for i, sample in enumerate(samples)
                if not found.covered[i]]
        for i, path in enumerate(paths[1:], 1):
            self.note(f'{paths[0].stem} covers {found.share(i):.0%} of '
                      f'{path.stem}.')
        paging.write(parsed_args, lambda: page.page_of(
            found, [path.stem for path in paths], rows, _HEADER,
            [dataset.header for dataset in datasets]), self.say)
        return _HEADER, rows
