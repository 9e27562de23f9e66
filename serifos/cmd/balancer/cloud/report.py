# SPDX-License-Identifier: Apache-2.0
"""serifos-balancer report: the cloud and its plan on one page."""

from __future__ import annotations

import argparse
import pathlib
import time

from serifos.balancer import planning
from serifos.balancer import plans
from serifos.cmd.balancer import adapters
from serifos.cmd.balancer.cloud import gather
from serifos.cmd.balancer.cloud.planned import Planned
from serifos.cmd.balancer import verb
from serifos.cmd import options
from serifos.files import atomic


class Report(verb.Verb):
    """Draw the cloud and its plan on one HTML page.

    Is anything slow, because of whom, what will be moved, what it costs,
    what cannot move and why, and did the last plan work: by the last
    observation, the journal and the configuration, as plan judges. Nothing
    is written except the file of --out.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'plan', nargs='?', metavar='PLAN', help='the id of a stored plan, '
            'or a file (default: a plan of now)')
        options.add_observation(parser)
        parser.add_argument(
            '--out', metavar='FILE',
            help='write the page to this file (default: standard output)')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        conf, args = self.app.conf, parsed_args
        if args.out:
            atomic.refuse_unwritable(args.out)
        plan = None if args.plan is None else plans.find(
            adapters.plans(conf), args.plan)
        cluster = adapters.cluster(conf, args.cluster)
        planning.tell_strays(cluster, self.say)
        page = gather.text(conf, Planned.of(
            conf, cluster, adapters.models_dir(conf, args.models), self.say,
            plan), time.time(), self.say)
        if args.out:
            path = pathlib.Path(args.out)
            atomic.replace(path, page)
            print(path.resolve())
        else:
            print(page)
