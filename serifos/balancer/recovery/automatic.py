# SPDX-License-Identifier: Apache-2.0
"""Recoveries that need no person.

In mode ``auto`` the leader does what ``serifos-balancer recover VOLUME
--yes`` does, of a migration that this journal asked for, where Cinder's API
alone ends it and two rounds in succession have found the same. What the first
finds is an entry ``recover`` with the result ``due``; ``put off`` follows
where the next one does not find it.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence
import math

from oslo_log import log

from serifos.balancer.recovery import diagnosis
from serifos.facts import activity
from serifos.facts.journal import Entry
from serifos.facts.journal import Journal
from serifos.facts import times

LOG = log.getLogger(__name__)

APART_S = diagnosis.CALL_S
"""Between the two rounds, at least."""

TRIES = 3
"""Of one volume, after which it is left to a person."""


def ready(diagnoses: Iterable[diagnosis.Diagnosis], watched: activity.Observed,
          journal: Journal, entries: Sequence[Entry], now: float,
          most_s: float) -> list[diagnosis.Diagnosis]:
    """Those to be recovered now; writes those that are due from now on.

    :param watched: what the diagnoses are made of
    :param entries: the journal's, none of them in the future
    :param now: seconds of the epoch
    :param most_s: between the two rounds
    """
    due = {volume: entry for volume, entry in _last(entries).items()
           if entry.facts['result'] == 'due'}
    found = []
    for each in diagnoses:
        if not each.forgotten:
            continue
        volume = each.record.id
        why = why_not(each, entries, watched)
        if why is not None:
            LOG.info('The recovery of volume %s is left to a person: %s.',
                     volume, why)
            continue
        what = {'halves': [half.id for half in each.halves],
                'keep': each.keep}
        before = due.pop(volume, None)
        age_s = now - times.parse(before.at) if before else math.inf
        if before is None or age_s > most_s or any(
                before.facts.get(name) != fact
                for name, fact in what.items()):
            journal.write('recover', volume=volume, result='due',
                          reason=each.why, **what)
        elif age_s >= APART_S:
            found.append(each)
    for volume in due:
        journal.write('recover', volume=volume, result='put off',
                      reason='the next round did not find it so')
    return found


def why_not(found: diagnosis.Diagnosis, entries: Sequence[Entry],
            watched: activity.Observed) -> str | None:
    """Why a person has to recover a forgotten migration, or None."""
    tries, ours = _tries(found.record.id, entries)
    if not _asked_here(found, entries):
        return 'this balancer did not ask for it'
    if not found.listed:
        return 'Cinder does not list the logical volumes there'
    if found.orphans:
        return 'it leaves a copy that no record names'
    if tries >= TRIES:
        return f'{tries} recoveries of it have failed'
    if tries and not ours:
        return 'a person has begun it'
    if not tries and not _certain(found, watched):
        return ('telemetry does not show that the volume was written as late '
                'as its copy')
    return None


def _last(entries: Iterable[Entry]) -> dict[str, Entry]:
    """Volume → the last entry of its recovery."""
    return {entry.facts['volume']: entry for entry in entries
            if entry.kind == 'recover'}


def _asked_here(found: diagnosis.Diagnosis, entries: Iterable[Entry]) -> bool:
    """Whether its copies are those of the last request for the volume."""
    copies: object = None
    for entry in entries:
        if entry.facts.get('volume') == found.record.id:
            if entry.kind == 'request':
                copies = None
            elif entry.kind == 'outcome':
                copies = entry.facts.get('copies')
    return isinstance(copies, list) and bool(found.halves) and all(
        half.id in copies for half in found.halves)


def _tries(volume: str, entries: Iterable[Entry]) -> tuple[int, bool]:
    """The recoveries that were begun in vain; whether all were automatic."""
    tries, ours, last = 0, True, None
    for entry in entries:
        if entry.kind == 'recover' and entry.facts['volume'] == volume:
            result = entry.facts['result']
            if result == 'begun':
                tries, ours = tries + 1, ours and last == 'due'
            elif result == 'success':
                tries, ours = 0, True
            last = result
    return tries, ours


def _certain(found: diagnosis.Diagnosis, watched: activity.Observed) -> bool:
    """Whether the volume has all that its server wrote, beyond doubt.

    While libvirt mirrors it, both are written; a server that has got the copy
    writes only that.
    """
    record, swap = found.record, found.swap
    if found.complete:
        return True
    if swap is None:  # copied by Cinder, not by Nova yet, or completed
        return not found.keep and (
            record.status != 'in-use' or bool(record.attachments))
    if not found.keep:  # no compute host was allowed to connect the copy
        return swap.service is not None and bool(swap.of_copy) and all(
            each.status == 'reserved' for each in swap.of_copy)
    own, other = (watched.volumes.get(each.id)
                  for each in (record, swap.copy))
    return own is not None and other is not None and (
        own.unwritten_s < own.seconds
        and own.unwritten_s <= other.unwritten_s + diagnosis.STILL_S)
