# SPDX-License-Identifier: Apache-2.0
"""serifos-balancer apply and evacuate: migrations on request."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import dataclasses
import math
import time

from serifos.balancer import batch
from serifos.balancer import changes
from serifos.balancer.observe import Observation
from serifos.balancer import outcome
from serifos.balancer import planning
from serifos.balancer import plans
from serifos.balancer import remaining
from serifos.balancer.round import Balancer
from serifos.cmd.balancer import cloud_verb
from serifos.cmd.balancer import lookup
from serifos.cmd import options
from serifos import errors
from serifos.facts import inventory
from serifos.facts import journal
from serifos.facts import phrases
from serifos.facts import times
from serifos.plan import affinity
from serifos.plan import evacuate
from serifos.plan.plan import Move
from serifos.plan import sentences
from serifos.plan import usable
from serifos.report import plan_text
from serifos.report import wording


class Acting(cloud_verb.Asks):
    """A verb that migrates volumes and prints the outcome of each."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        cloud_verb.add_window(parser)
        options.add_long(parser)
        return parser

    def carry_out(self, balancer: Balancer, moves: Sequence[Move],
                  plan_id: str, seen: Observation) -> None:
        outcomes: list[outcome.Outcome] = []
        unmade = batch.Unmade(batch.devices_of(seen.cluster),
                              affinity.bundles(seen.cluster))
        names, short = (wording.volumes(seen.cluster),
                        wording.pools_of(seen.cluster))
        for number, move in enumerate(moves, 1):
            print(f'{number} of {len(moves)}: '
                  f'{names.get(move.volume, move.volume)}, '
                  f'{move.size_gib:g} GiB, to '
                  f'{short.get(move.target, move.target)} ...', flush=True)
            why = unmade.why_not(move)
            outcomes += balancer.carrier.carry_out(
                [move], plan_id, seen.over) if why is None else [
                outcome.Outcome('not started', why)]
            if not outcomes[-1].left:
                unmade.add(move.volume, move.source)
            print(f'  {outcomes[-1].result}: {outcomes[-1].reason}',
                  flush=True)
            for line in changes.commands(move.volume, outcomes[-1].lost,
                                         outcomes[-1].project):
                print(f'    {line}', flush=True)
            if balancer.carrier.ends_a_batch(outcomes[-1]):
                break
        done = sum(each.result in journal.MOVED for each in outcomes)
        print(f'{done} of {len(moves)} moves are carried out.')
        if done < len(moves) or any(each.lost for each in outcomes):
            self.exit_code = 1
        elif any(pool.unexplained is not None for pool in seen.cluster.pools):
            self.exit_code = errors.UNEXPLAINED
        if outcomes and outcomes[-1].result == 'waiting':
            raise errors.Interrupted(
                'Stopped while Cinder migrates; run serifos-balancer '
                'history later, or the same command again.')
        if outcomes and outcomes[-1].result == 'stopped':
            raise errors.Interrupted(
                'Stopped before the next move was requested.')
        try:
            balancer.observer.observe()
        except errors.CloudError as exc:
            self.say(f'cluster.json is as it was before: {exc}')

    def refuse_hindered(self, seen: Observation,
                        least: int = 2) -> None:
        """:raises InputError: where nothing may be moved now"""
        for hindrance in seen.hindrances(least):
            raise errors.InputError(f'Nothing is moved: {hindrance}')


class Apply(Acting):
    """Carry a plan out, after a new observation.

    Moves whose volume has changed since are left out, each with the reason,
    and those that bring a volume where another one was to leave first.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('plan', metavar='PLAN',
                            help='id of a stored plan, or a file of one')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        with self.acting(parsed_args.window) as balancer:
            plan = plans.find(balancer.plans, parsed_args.plan)
            if plan.expires_at < time.time():
                raise errors.InputError(
                    f'Plan {plan.id} expired at '
                    f'{times.text(plan.expires_at)}; make a new one.')
            with self.gently():
                balancer.carrier.settle_open_moves()
            self.gather(balancer)
            seen = balancer.observer.observe()
            self.refuse_hindered(seen)
            moves, left = remaining.left_of(
                plan.moves, usable.of(plan, seen.cluster),
                balancer.observer.settings.limits)
            for volume, why in left:
                print(f'{volume} stays: {why}')
            if not moves:
                print('No move of this plan is left to be carried out.')
                return
            unexplained = sentences.unexplained(seen.cluster.pools)
            if unexplained is not None:
                print(unexplained)
            print(plan_text.of_steps(moves, wording.pools_of(seen.cluster)))
            self.confirm(
                f'Migrate {phrases.count(len(moves), "volume")}?',
                parsed_args)
            with self.gently():
                self.carry_out(balancer, moves, plan.id, seen)


class Evacuate(Acting):
    """Move the volumes of a pool elsewhere, as far as they may move.

    Each volume goes to the pool with the least predicted latency. For those
    that cannot be moved the reason is printed.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('pool', metavar='POOL',
                            help='the pool, HOST@BACKEND#POOL or what plan '
                            'calls it')
        options.add_trust(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        with self.acting(parsed_args.window) as balancer:
            pool = _found(balancer.observer.cinder.inventory(),
                          parsed_args.pool)
            with self.gently():
                balancer.carrier.settle_open_moves()
            self.gather(balancer)
            seen = balancer.observer.observe(cool_down=False)
            limits = dataclasses.replace(
                balancer.limits(), trust_models=parsed_args.trust_models)
            slots = balancer.slots(seen)
            first = planning.state(seen.cluster, limits, seen.models, slots)
            plan = evacuate.of(first, pool)
            if slots is not None:
                plan = dataclasses.replace(
                    plan, window_s=balancer.observer.settings.history_s)
            print(plan_text.text(planning.outlook(
                plan, first, seen.models), 0.0, math.inf), end='')
            for refusal in plan.refused:
                print(f'{refusal.volume} stays: {refusal.reason}')
            if not plan.moves:
                self.exit_code = 1 if plan.refused else 0
                return
            self.refuse_hindered(seen, least=1)
            self.confirm(
                f'Migrate {phrases.count(len(plan.moves), "volume")} off '
                f'{pool}?', parsed_args)
            kept = balancer.plans.keep(
                planning.issued(plan, time.time(),
                                balancer.observer.settings.plan_ttl_s),
                time.time(), self.say)
            with self.gently():
                self.carry_out(balancer, plan.moves, kept.id, seen)
            if plan.refused:
                self.say(f'{pool} keeps {len(plan.refused)} of '
                         'its volumes.')
                self.exit_code = 1


def _found(found: inventory.Inventory, said: str) -> str:
    """The whole name of a pool, before the minutes of readings.

    :raises InputError: where Cinder has no such pool
    """
    pool = lookup.pool((*(each.name for each in found.pools),
                        *(record.pool for record in found.records)), said)
    if pool is None:
        raise errors.InputError(
            f'Cinder has no pool {said}; give its whole name, '
            'HOST@BACKEND#POOL, as cinder get-pools has it.')
    return pool
