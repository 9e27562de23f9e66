# SPDX-License-Identifier: Apache-2.0
"""serifos-balancer status, plans and show: the balancer and its plans."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import time
from typing import Any

from serifos.balancer import leader
from serifos.balancer import plans
from serifos.balancer.settings import BalancerSettings
from serifos.balancer import status
from serifos.cmd.balancer import configuration
from serifos.cmd.balancer import status_tables
from serifos.cmd.balancer import verb
from serifos.cmd import listing
from serifos.cmd import options
from serifos.cmd import output
from serifos import errors
from serifos.facts.cluster import Cluster
from serifos.facts import journal
from serifos.facts.journal import Entry
from serifos.facts.journal import Leader
from serifos.facts import phrases
from serifos.facts import times
from serifos.report import table
from serifos.report import wording


class _Looks(verb.Verb):
    """A verb that asks neither Cinder nor telemetry, and writes nothing."""

    document = 'a document, times in s, sizes in GiB'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        output.add_out(parser, 'that document')
        options.add_long(parser)
        return parser

    def write(self, parsed_args: argparse.Namespace, document: Any) -> Any:
        """Writes a document to the file of --out; returns it."""
        output.refuse_unwritable(parsed_args)
        output.write(parsed_args, document)
        return document

    def settings(self) -> BalancerSettings:
        return configuration.settings(self.app.conf)

    def entries(self, now: float) -> tuple[Entry, ...]:
        """Those of the journal, none of them in the future."""
        return journal.corrected(self.journal().entries(), now)

    def observed(self) -> Cluster | None:
        """The last observation; None where there is none, which is said."""
        try:
            return configuration.cluster(self.app.conf, None)
        except errors.InputError as exc:
            self.say(str(exc))
            return None


class Status(_Looks, listing.Single):
    """Tell what the balancer does: leader, rounds, waits, migrations.

    By its journal, its files and the configuration; neither Cinder nor
    telemetry is asked.
    """

    def take_action(self, parsed_args: argparse.Namespace
                    ) -> listing.Listed:
        seen = status_tables.read(self.app.conf, self.journal(), time.time())
        if seen.problem is not None:
            self.say(seen.problem)
        name, since, mode = seen.lead if seen.lead and not (
            leader.has_ended(seen.lead.name)) else (None, None, None)
        return self.shown(self.write(parsed_args, {
            'leader': name, 'leads_since': since, 'leads_as': mode,
            **dataclasses.asdict(seen.status)}), lambda: wording.lines(
                _status(seen.status, seen.lead, seen.cluster)))


def _status(seen: status.Status, lead: Leader | None,
            cluster: Cluster | None) -> Iterator[str]:
    for name, said in status_tables.facts(seen, lead):
        yield f'{name:13} {said}'
    if seen.in_flight:
        yield ''
        yield table.as_text(status_tables.in_flight(seen, cluster))


class Plans(_Looks, listing.Listing):
    """List the plans that are stored, and what became of them."""

    def take_action(self, parsed_args: argparse.Namespace
                    ) -> listing.Listed:
        now = time.time()
        found = plans.standings(
            self.plans().listed(), self.entries(now), now)
        document = self.write(parsed_args, [*map(_document, found)])
        return self.listed(document, lambda: _plans(found), document, _NAMES)


def _plans(found: Sequence[plans.Standing]) -> str:
    return wording.lines(
        [table.as_text(status_tables.plans(found))]) if found else (
        'No plan is stored.\n')


_NAMES = ('id', 'created_at', 'expires_at', 'state', 'approved_by',
          'planner', 'moves', 'made', 'gib')


def _document(each: plans.Standing) -> dict[str, object]:
    plan = each.plan
    return {'id': plan.id, 'created_at': times.text(plan.created_at),
            'expires_at': times.text(plan.expires_at), 'state': each.state,
            'approved_by': each.approved_by,
            'planner': plan.planner, 'moves': plan.move_count,
            'made': each.made, 'gib': plan.size_gib}


class Show(_Looks, listing.Single):
    """Show a stored plan: its moves, and what became of each."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('plan', metavar='PLAN',
                            help='id of a stored plan, or a file of one')
        return parser

    def take_action(self, parsed_args: argparse.Namespace
                    ) -> listing.Listed:
        now, stored = time.time(), self.plans()
        plan = plans.find(stored, parsed_args.plan)
        others = [each for each in stored.listed(now)
                  if each.id != plan.id]
        its = next(each for each in plans.standings(
            [plan, *others], self.entries(now), now) if each.plan is plan)
        return self.shown(self.write(parsed_args, {
            **plan.to_json(), 'state': its.state,
            'approved_by': its.approved_by, 'outcomes': {
                volume: {'result': result or None, 'reason': reason,
                         'restore': [*restore]} for volume, (
                             result, reason, restore) in its.outcomes.items()
                }}),
            lambda: wording.lines(_shown(its, self.observed())))


def _shown(its: plans.Standing,
           cluster: Cluster | None) -> Iterator[str]:
    plan = its.plan
    yield from wording.wrapped(status_tables.became(its))
    if not plan.moves:
        return
    names, short = wording.volumes(cluster), wording.pools_of(
        cluster, (end for move in plan.moves
                  for end in (move.source, move.target)))
    yield ''
    yield table.as_text(table.Table(
        ('volume', 'GiB', 'from, ms', 'to, ms', 'what became of it'), [
            (names.get(move.volume, wording.name(move.volume)),
             float(move.size_gib),
             f'{short[move.source]} ' + phrases.change(
                 move.source_before_us, move.source_after_us),
             f'{short[move.target]} ' + phrases.change(
                 move.target_before_us, move.target_after_us),
             _became(its.outcomes.get(move.volume)))
            for move in plan.moves], 'Its moves, as it predicted them.'))
    for volume, its_move in its.outcomes.items():
        if its_move.restore:
            yield ''
            yield from wording.wrapped(
                f'{wording.name(volume)} was moved, and '
                f'{its_move.reason}. To restore that:')
            yield from (f'    {line}' for line in its_move.restore)
    if its.state == plans.VALID:
        yield ''
        yield f'serifos-balancer apply {wording.name(plan.id)} carries it out.'


def _became(outcome: plans.Became | None) -> str:
    if outcome is None:
        return 'not requested'
    return f'{outcome.result}: {wording.plain(outcome.reason, 200)}' if (
        outcome.result) else 'in flight'
