# SPDX-License-Identifier: Apache-2.0
"""serifos-balancer status, plans and show: what it does, and what it did."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import time
from typing import Any

from serifos.balancer import plans as directory
from serifos.balancer import settings as sg
from serifos.balancer.standing import of_plans
from serifos.balancer.standing import status as st
from serifos.cmd.balancer import adapters
from serifos.cmd.balancer import verb
from serifos.cmd import output
from serifos import errors
from serifos.facts import clock_skew
from serifos.facts import cluster as cl
from serifos.facts import journal as jn
from serifos.facts import times
from serifos.plan import copying
from serifos.report.plan import wording as wd
from serifos.report import table


_MODES = {'advise': 'advise: nothing moves',
          'approve': 'approve: what is approved moves', 'auto': 'auto'}


class _Looks(verb.Verb):
    """A verb that asks neither Cinder nor telemetry, and writes nothing."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        output.add_format(parser, 'a document, times in s, sizes in GiB',
                          'it')
        output.add_out(parser, 'that document')
        return parser

    def show(self, parsed_args: argparse.Namespace, document: Any,
             text: Callable[[], str]) -> None:
        """Writes and prints a result."""
        output.refuse_unwritable(parsed_args)
        output.write(parsed_args, document)
        output.show(parsed_args, document, text)

    def settings(self) -> sg.BalancerSettings:
        return adapters.settings(self.app.conf)

    def entries(self, now: float) -> tuple[jn.Entry, ...]:
        """Those of the journal, none of them in the future."""
        return clock_skew.corrected(self.journal().entries(), now)

    def observed(self) -> cl.Cluster | None:
        """The last observation; None where there is none, which is said."""
        try:
            return adapters.cluster(self.app.conf, None)
        except errors.InputError as exc:
            self.say(str(exc))
            return None


class Status(_Looks):
    """Tell what the balancer does: leader, rounds, waits, migrations.

    By its journal, its files and the configuration; neither Cinder nor
    telemetry is asked.
    """

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        now, cluster = time.time(), self.observed()
        seen = st.Status.of(
            self.settings(), self.entries(now), _observed_at(cluster), now,
            {} if cluster is None else {
                volume.id: volume.copy_mib_s / 1024
                for volume in cluster.volumes if volume.copy_mib_s})
        lead = self.journal().last_lead()
        self.show(parsed_args, {
            'leader': None if lead is None else lead[0],
            'leads_since': None if lead is None else lead[1],
            **dataclasses.asdict(seen)},
            lambda: wd.lines(_status(seen, lead, cluster)))


def _observed_at(cluster: cl.Cluster | None) -> float | None:
    try:
        return None if cluster is None else times.parse(cluster.observed_at)
    except ValueError:
        return None


def _status(seen: st.Status, lead: tuple[str, str] | None,
            cluster: cl.Cluster | None) -> Iterator[str]:
    yield f'mode          {_MODES[seen.mode]}'
    if lead is not None:
        yield f'leader        {lead[0]} took the lead last, at {lead[1]}'
    else:
        yield 'leader        none yet'
    yield f'last round    {_round(seen)}'
    if seen.paused is not None:
        yield (f'paused        since {seen.paused[1]}: {seen.paused[0]}; look '
               'at serifos-balancer history, then serifos-balancer resume')
    for clause in seen.waits:
        yield f'waits         {clause}'
    done = ', '.join(f'{number:,} {result}'
                     for result, number in sorted(seen.done.items()))
    yield (f'last 24 h     {done or "no migration ended"}; '
           f'{seen.moved_gib:,.6g} GiB moved')
    if seen.failures:
        yield f'failures      {seen.failures} in a row'
    if seen.backing_off:
        yield (f'left alone    {wd.count(seen.backing_off, "volume")} after '
               'a failure or a refusal')
    if not seen.in_flight:
        yield 'in flight     nothing'
        return
    names = {} if cluster is None else {
        volume.id: wd.volume(volume) for volume in cluster.volumes}
    yield ''
    yield table.as_text(table.Table(
        ('volume', 'from', 'to', 'GiB', 'min so far', 'min left', 'MiB/s',
         'by'),
        [(names.get(each.volume, wd.plain(each.volume, 36)),
          wd.pool(each.source), wd.pool(each.target), float(each.size_gib),
          each.since_s / 60, _left(each),
          None if each.gib_per_s is None else 1024 * each.gib_per_s,
          '–' if each.gib_per_s is None else
          'its counters' if each.measured else 'earlier copies')
         for each in seen.in_flight],
        'In flight; by: what the rate, and what is left, are told by.'))


def _round(seen: st.Status) -> str:
    if seen.observed_s is None or seen.next_s is None:
        return 'none: there is no observation'
    ago = f'{_duration(seen.observed_s)} ago'
    if seen.late:
        return (f'{ago}; the next one is late by {_duration(-seen.next_s)}: '
                'does serifos-balancer run?')
    return f'{ago}; the next in {_duration(seen.next_s)}'


def _duration(seconds: float) -> str:
    return copying.duration(round(max(0.0, seconds)))


def _left(each: st.InFlight) -> object:
    if each.left_s is None:
        return None
    return each.left_s / 60 if each.left_s >= 0 else (
        f'{-each.left_s / 60:.2g} over')


class Plans(_Looks):
    """List the plans that are stored, and what became of them."""

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        now = time.time()
        found = of_plans.standings(
            directory.every(self.settings().plans_dir, self.say),
            self.entries(now), now)
        self.show(parsed_args, [_document(each) for each in found],
                  lambda: _plans(found))


def _plans(found: Sequence[of_plans.Standing]) -> str:
    if not found:
        return 'No plan is stored.\n'
    return wd.lines([table.as_text(table.Table(
        ('plan', 'created', 'by', 'moves', 'made', 'GiB', 'slowest',
         'state', 'approved by'), [_row(each) for each in found],
        'Plans, the newest first. slowest: ms that the slowest pool '
        'shows, now and after.'))])


def _document(each: of_plans.Standing) -> dict[str, object]:
    plan = each.plan
    return {'id': plan.id, 'created_at': times.text(plan.created_at),
            'expires_at': times.text(plan.expires_at), 'state': each.state,
            'approved_by': each.approved_by,
            'planner': plan.planner, 'moves': len(plan.moves),
            'made': each.made,
            'gib': sum(move.size_gib for move in plan.moves)}


def _row(each: of_plans.Standing) -> tuple[object, ...]:
    plan = each.plan
    return (wd.plain(plan.id, 36), times.text(plan.created_at),
            wd.plain(plan.planner, 12), len(plan.moves), each.made,
            float(sum(move.size_gib for move in plan.moves)),
            wd.change(plan.max_us.before, plan.max_us.after), each.state,
            wd.plain(each.approved_by or '–'))


class Show(_Looks):
    """Show a stored plan: its moves, and what became of each."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('plan', metavar='PLAN', help='its id, or a file')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        now, kept = time.time(), self.settings().plans_dir
        plan = directory.find(kept, parsed_args.plan)
        others = [each for each in directory.every(kept, self.say)
                  if each.id != plan.id]
        its = next(each for each in of_plans.standings(
            [plan, *others], self.entries(now), now) if each.plan is plan)
        self.show(parsed_args, {
            **plan.to_json(), 'state': its.state,
            'approved_by': its.approved_by, 'outcomes': {
                volume: {'result': result or None, 'reason': reason}
                for volume, (result, reason) in its.outcomes.items()}},
            lambda: wd.lines(_shown(its, self.observed())))


def _shown(its: of_plans.Standing,
           cluster: cl.Cluster | None) -> Iterator[str]:
    plan = its.plan
    misses = plan.slo_misses
    yield from wd.wrapped(
        f'Plan {wd.plain(plan.id, 36)} of {wd.plain(plan.planner)}, created '
        f'at {times.text(plan.created_at)}: {its.state}'
        + (f', expires at {times.text(plan.expires_at)}'
           if its.state in (of_plans.VALID, of_plans.SUPERSEDED) else '')
        + ('' if its.approved_by is None else
           f', approved by {wd.plain(its.approved_by)}')
        + f'. {its.made} of {wd.count(len(plan.moves), "move")} made. The '
        'slowest pool then showed '
        f'{wd.change(plan.max_us.before, plan.max_us.after)} ms, the mean '
        f'over all was {wd.change(plan.mean_us.before, plan.mean_us.after)} '
        f'ms, and {misses.before:.0f} → {misses.after:.0f} promises were '
        'broken, as predicted.')
    if not plan.moves:
        return
    names = {} if cluster is None else {
        volume.id: wd.volume(volume) for volume in cluster.volumes}
    yield ''
    yield table.as_text(table.Table(
        ('volume', 'GiB', 'from, ms', 'to, ms', 'what became of it'), [
            (names.get(move.volume, wd.plain(move.volume, 36)),
             float(move.size_gib), f'{wd.pool(move.source)} ' + wd.change(
                 move.source_before_us, move.source_after_us),
             f'{wd.pool(move.target)} ' + wd.change(
                 move.target_before_us, move.target_after_us),
             _became(its.outcomes.get(move.volume)))
            for move in plan.moves], 'Its moves, as it predicted them.'))
    if its.state == of_plans.VALID:
        yield ''
        yield f'serifos-balancer apply {wd.plain(plan.id, 36)} carries it out.'


def _became(outcome: tuple[str, str] | None) -> str:
    if outcome is None:
        return 'not requested'
    result, reason = outcome
    return f'{result}: {wd.plain(reason, 90)}' if result else 'in flight'
