# SPDX-License-Identifier: Apache-2.0
"""serifos-balancer plan and explain: moves and reasons; nothing moves."""

from __future__ import annotations

import argparse
from collections.abc import Callable
import time
from typing import Any

from serifos.balancer import planning
from serifos.cmd.balancer import configuration
from serifos.cmd.balancer import judging
from serifos.cmd.balancer import lookup
from serifos.cmd import listing
from serifos.cmd import options
from serifos.cmd import output
from serifos.conf.balancer import PLANNERS
from serifos import errors
from serifos.facts.cluster import Pool
from serifos.facts.cluster import Volume
from serifos.files import documents
from serifos.plan import explain
from serifos.plan.plan import Move
from serifos.report import explanation
from serifos.report import plan_text


class Plan(listing.Listing):
    """Plan the moves that level latency over the pools of a cluster.

    Nothing is moved, and nothing is written except the file of --out.
    """

    document, rows = 'a serifos-plan/1 document', 'the moves'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        options.add_observation(parser, 'the observation to plan for')
        options.add_long(parser)
        parser.add_argument('--planner', choices=[*dict(PLANNERS)],
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
        options.add_trust(parser)
        parser.add_argument(
            '--active-floor', type=float, metavar='Q',
            help='outstanding I/Os below which a volume is idle (default: '
                 '[balancer] active_floor)')
        output.add_out(parser, 'the plan')
        return parser

    def take_action(self, parsed_args: argparse.Namespace
                    ) -> listing.Listed:
        conf = self.app.conf
        limits = configuration.limits_of(conf, **{
            name: getattr(parsed_args, name) for name in (
                'min_gain', 'hot_ratio', 'max_moves', 'active_floor',
                'every_refusal', 'trust_models', 'max_gib_per_plan')})
        output.refuse_unwritable(parsed_args, 'plan')
        cluster = configuration.cluster(conf, parsed_args.cluster)
        why = None if parsed_args.why is None else lookup.find(
            cluster, parsed_args.why)
        planning.warn_of_strays(cluster, self.say)
        directory = configuration.models_dir(conf, parsed_args.models)
        planner = parsed_args.planner or conf.balancer.planner
        if parsed_args.paper and planner != 'bfd':
            raise errors.InputError(
                f'The planner {planner} is not in the paper; give --planner '
                'bfd with --paper.')
        judged = judging.judged(
            conf, cluster, directory, self.say, limits,
            planning.PAPER if parsed_args.paper else parsed_args.planner)
        plan = planning.issued(
            judged.plan, time.time(), conf.balancer.plan_ttl)
        if parsed_args.out:
            documents.write_plan(parsed_args.out, plan)
        document = plan.to_json()

        def text() -> str:
            return plan_text.text(judged.seen, *configuration.age(
                conf, cluster, time.time())) + (
                '' if why is None else '\n' + _text(why, judged))

        if plan.unexplained and not judged.limits.trust_models:
            self.exit_code = errors.UNEXPLAINED
        return self.listed(document, text, document['moves'], Move.names())


class Explain(listing.Listing):
    """Explain why a pool is slow, or where a volume could go.

    By the last observation, as a plan would be made by it now. Nothing is
    written.
    """

    document = 'a serifos-explanation/1 document'
    rows = 'the volumes of a pool, or the pools that a volume could go to'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'name', metavar='VOLUME|POOL', help='a pool, HOST@BACKEND#POOL or '
            'what plan calls it; a volume\'s id, the beginning of it, or its '
            'name')
        options.add_observation(parser)
        options.add_long(parser)
        output.add_out(parser, 'that document')
        return parser

    def take_action(self, parsed_args: argparse.Namespace
                    ) -> listing.Listed:
        conf = self.app.conf
        output.refuse_unwritable(parsed_args, 'explanation')
        cluster = configuration.cluster(conf, parsed_args.cluster)
        found = lookup.find(cluster, parsed_args.name)
        directory = configuration.models_dir(conf, parsed_args.models)
        judged = judging.judged(conf, cluster, directory, self.say)
        document = _document(found, judged)
        output.write(parsed_args, document)
        return self.listed(document, lambda: _text(found, judged), *(
            (document['goals'], explanation.GOALS)
            if isinstance(found, Volume)
            else (document['active_volumes'], explanation.VOLUMES)))


def _text(found: Pool | Volume, judged: judging.Judged) -> str:
    """What is to be said of a pool or a volume.

    :param judged: the plan of now
    """
    return _explained(found, judged, explanation.volume, explanation.pool)


def _document(found: Pool | Volume,
              judged: judging.Judged) -> dict[str, Any]:
    """The same for programs."""
    return _explained(found, judged, explanation.volume_document,
                      explanation.pool_document)


def _explained(found: Pool | Volume, judged: judging.Judged,
               of_volume: Callable[..., Any],
               of_pool: Callable[..., Any]) -> Any:
    seen, state = judged.seen, judged.state
    if isinstance(found, Volume):
        return of_volume(seen, explain.part(state, found.id))
    return of_pool(seen, found.name, explain.heat(state, found.name),
                   explain.parts(state, found.name))
