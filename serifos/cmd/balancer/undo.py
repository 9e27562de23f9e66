# SPDX-License-Identifier: Apache-2.0
"""serifos-balancer undo: a plan that moves volumes back."""

from __future__ import annotations

import argparse
import dataclasses
import time

from serifos.balancer import pace
from serifos.balancer import planning
from serifos.balancer import plans
from serifos.cmd.balancer import configuration
from serifos.cmd.balancer import stored_history
from serifos.cmd.balancer import verb
from serifos.cmd import listing
from serifos.cmd import options
from serifos.cmd import output
from serifos import errors
from serifos.facts.cluster import Cluster
from serifos.facts import journal
from serifos.facts import phrases
from serifos.files import documents
from serifos.plan.plan import Move
from serifos.plan import undo
from serifos.report import plan_text
from serifos.report import wording


class Undo(verb.Verb, listing.Listing):
    """Plan the moves back of a plan that was carried out.

    By the journal and the last observation, and by the days before it where
    rounds judge by these. Nothing is moved: the plan is shown and stored, and
    is applied or approved as any other. Volumes that cannot go back are named
    with the reason; then the exit code is 1. Their cool-down does not hold
    volumes back, and begins anew where they moved.
    """

    document, rows = 'a serifos-plan/1 document', 'the moves'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'plan', metavar='PLAN', help='id of the plan to undo')
        output.add_out(parser, 'the plan')
        options.add_long(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace
                    ) -> listing.Listed:
        conf, now = self.app.conf, time.time()
        output.refuse_unwritable(parsed_args, 'plan')
        settings = configuration.settings(conf)
        entries = journal.corrected(self.journal().entries(), now)
        done = plans.carried(entries, parsed_args.plan)
        if not done.moves:
            raise errors.InputError(
                f'No move of plan {errors.one_line(parsed_args.plan)} was '
                'made; serifos-balancer plans lists the plans.')
        cluster = configuration.cluster(conf, None)
        _refuse_older(cluster, done.ended_at)
        limits = dataclasses.replace(
            pace.at_learnt_rates(settings.limits, entries), trust_models=True)
        models = planning.read_models(
            cluster, configuration.models_dir(conf, None), self.say,
            limits.hot_by)
        slots = stored_history.slots(conf, cluster, self.say)
        plan = planning.issued(dataclasses.replace(
            undo.plan(cluster, planning.predictions_of(
                cluster, limits, models, slots), limits, done.moves, slots),
            window_s=0.0 if slots is None else settings.history_s),
            now, settings.plan_ttl_s)
        if plan.moves:
            plan = self.plans().keep(plan, now, self.say)
        if parsed_args.out:
            documents.write_plan(parsed_args.out, plan)
        document = plan.to_json()
        self.exit_code = 1 if plan.refused else 0
        if plan.moves:
            self.note(f'Plan {plan.id} takes back '
                      f'{phrases.count(len(plan.moves), "move")} of plan '
                      f'{parsed_args.plan}; serifos-balancer apply {plan.id} '
                      'carries it out, or, in mode approve, serifos-balancer '
                      f'approve {plan.id}.')
        return self.listed(document, lambda: plan_text.text(
            planning.outlook(plan, planning.state(
                cluster, limits, models, slots), models),
            *configuration.age(conf, cluster, now)) + ''.join(
                f'{wording.name(each.volume)} stays: {each.reason}\n'
                for each in plan.refused), document['moves'], Move.names())


def _refuse_older(cluster: Cluster, ended_at: float) -> None:
    """:raises InputError: where the volumes may not be where it has them"""
    observed_at = configuration.observed_at(cluster)
    if (observed_at or 0.0) + 1 <= ended_at:  # it is written in whole seconds
        raise errors.InputError(
            'The last observation is of a time before the moves ended; '
            'serifos-balancer observe makes a new one.')
