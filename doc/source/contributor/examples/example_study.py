# SPDX-License-Identifier: Apache-2.0
"""serifos-model mean-by-count: the mean latency by count of a dataset."""

from __future__ import annotations

import argparse
import itertools
import operator
import statistics
from typing import Any

from cliff import lister

from serifos.cmd import app
from serifos.files import documents

_COUNT = operator.attrgetter('count')


class MeanByCount(app.Fails, lister.Lister):
    """Print the mean latency of a dataset's runs, by count of workloads."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('dataset', metavar='DATASET',
                            help='NAME.jsonl, as build writes it')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        dataset = documents.read_dataset(parsed_args.dataset)
        runs = sorted(dataset.valid(), key=_COUNT)
        rows = [(count, len(of), round(statistics.fmean(of), 1))
                for count, of in (
                    (count, [run.latency_us for run in group])
                    for count, group in itertools.groupby(runs, _COUNT))]
        return ('count', 'runs', 'mean_us'), rows
