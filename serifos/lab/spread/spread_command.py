# SPDX-License-Identifier: Apache-2.0
"""serifos-model spread: how far repeated runs are apart."""

from __future__ import annotations

import argparse
from typing import Any

from cliff import lister

from serifos.cmd import app
from serifos.cmd import output
from serifos.cmd import paging
from serifos import errors
from serifos.files import documents
from serifos.lab.spread import spread


class Spread(app.Fails, lister.Lister):
    """Print how sure the means of repeated runs are.

    Runs of the same workloads are one configuration, whatever their round.
    Of each the relative standard error of the mean is taken: the standard
    deviation of its n runs, divided by the root of n and by their mean. The
    table has the mean, the median and the 90th percentile of these errors
    over the configurations, of reads, of writes and of both.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('dataset', metavar='DATASET',
                            help='the runs, NAME.jsonl, some of which were '
                            'made more than once, as by study --rounds')
        paging.add_argument(parser, 'the distribution of the errors')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        from serifos.lab.spread import spread_page  # charts load numpy
        path = parsed_args.dataset
        paging.refuse_absurd(parsed_args)
        dataset = documents.read_dataset(path)
        found = spread.spreads(dataset.samples)
        if not found:
            raise errors.InputError(
                f'No configuration of {path} was measured twice; make its '
                'runs more than once, as by --rounds 2.')
        paging.write(parsed_args, lambda: spread_page.page_of(
            path, found, dataset.header), self.say)
        return (('figure', 'configurations', 'runs', 'mean', 'median', 'p90'),
                [(one.figure, len(one.repeated), one.runs,
                  *(output.number(share, '.2%')
                    for share in (one.mean, one.median, one.p90)))
                 for one in found])
