# SPDX-License-Identifier: Apache-2.0
"""serifos-balancer plan: moves and reasons, without moving anything."""

from __future__ import annotations

import argparse
import time

from cliff import command

from serifos.balancer import planning
from serifos.cmd import app
from serifos.cmd.balancer import adapters
from serifos.cmd.balancer import explain
from serifos.cmd.balancer import judging
from serifos.cmd.balancer import status_tables
from serifos.cmd import options as verb_options
from serifos.cmd import output
from serifos.conf import balancer as options
from serifos import errors
from serifos.facts import hot_by
from serifos.files import documents
from serifos.plan.plan import Move
from serifos.report import plan_text


class Plan(app.Fails, command.Command):
    """Plan the moves that level latency over the pools of a cluster.

    Nothing is moved, and nothing is written except the file of --out.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        verb_options.add_observation(parser, 'the observation to plan for')
        parser.add_argument('--planner', choices=[*dict(options.PLANNERS)],
                            help='planner to use (default: [balancer] '
                            'planner)')
        parser.add_argument(
            '--paper', action='store_true', help='with --planner bfd: '
            'Algorithm 1 as the paper prints it: one pass that asks for no '
            'gain, and the bare predictions of the models, without '
            'corrections, history, or upper ends of intervals')
        parser.add_argument(
            '--max-moves', type=int, metavar='N', help='most moves of the '
            'plan on up to 20 pools, off each pool on more (default: '
            '[balancer] max_moves)')
        parser.add_argument(
            '--max-gib-per-plan', type=float, metavar='GIB', help='most GiB '
            'that the plan copies (default: [balancer] max_gib_per_plan)')
        parser.add_argument(
            '--min-gain', type=float, metavar='FRACTION',
            help='by how much a move must lower the latency of the slower '
                 'of its pools; 0.1 is 10 %% (default: [balancer] min_gain)')
        parser.add_argument(
            '--hot-ratio', type=float, metavar='FRACTION',
            help='how far above the mean a hot pool lies; 0.25 is 25 %% '
                 '(default: [balancer] hot_ratio)')
        parser.add_argument(
            '--why', metavar='POOL',
            help='also explain why this pool is slow, as explain does')
        parser.add_argument(
            '--every-refusal', action='store_true',
            help='also list why volumes of pools that are not hot stay')
        verb_options.add_trust(parser)
        parser.add_argument(
            '--active-floor', type=float, metavar='Q',
            help='outstanding I/Os below which a volume is idle (default: '
                 '[balancer] active_floor)')
        output.add_format(parser, 'a serifos-plan/1 document', 'the moves')
        output.add_out(parser, 'the plan')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        conf = self.app.conf
        limits = adapters.limits_of(conf, **{
            name: getattr(parsed_args, name) for name in (
                'min_gain', 'hot_ratio', 'max_moves', 'active_floor',
                'every_refusal', 'trust_models', 'max_gib_per_plan')})
        output.refuse_unwritable(parsed_args, 'plan')
        cluster = adapters.cluster(conf, parsed_args.cluster)
        why = None if parsed_args.why is None else explain.find(
            cluster, parsed_args.why)
        planning.warn_of_strays(cluster, self.say)
        directory = adapters.models_dir(conf, parsed_args.models)
        planner = parsed_args.planner or conf.balancer.planner
        if parsed_args.paper and planner != 'bfd':
            raise errors.InputError(
                f'The planner {planner} is not in the paper; give --planner '
                'bfd with --paper.')
        models = planning.models(
            cluster, directory, self.say,
            hot_by.LATENCY if parsed_args.paper else limits.hot_by)
        judged = judging.judged(
            conf, cluster, models, self.say, limits,
            planning.PAPER if parsed_args.paper else parsed_args.planner)
        plan = planning.issued(
            judged.plan, time.time(), conf.balancer.plan_ttl)
        if parsed_args.out:
            documents.write_plan(parsed_args.out, plan)
        document = plan.to_json()

        def text() -> str:
            return plan_text.text(judged.seen, *status_tables.age(
                conf, cluster, time.time())) + (
                '' if why is None else '\n' + explain.of(why, judged))

        output.show(parsed_args, document, text, document['moves'],
                    Move.names())
        if plan.unexplained and not judged.limits.trust_models:
            self.exit_code = errors.UNEXPLAINED
