# SPDX-License-Identifier: Apache-2.0
"""Diagnoses of the migrations under way and of copies left behind."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterator
import dataclasses

from serifos.balancer import join
from serifos.balancer.outcome import Timeouts
from serifos.balancer.recovery import copies
from serifos.balancer.recovery.diagnosis import Diagnosis
from serifos.balancer.recovery import inquiry
from serifos.balancer.recovery import recover
from serifos.balancer.recovery import stuck
from serifos.balancer.recovery import swap
from serifos import errors
from serifos.facts import activity
from serifos.facts import clock_skew
from serifos.facts.inventory import Cloud
from serifos.facts.inventory import Inventory
from serifos.facts.journal import Journal
from serifos.facts.servers import Compute
from serifos.facts.telemetry import Telemetry

_MOST_ASKED = 50
"""Backends whose logical volumes are listed for one volume, at most."""


@dataclasses.dataclass(frozen=True)
class Diagnoser:
    """Diagnoses by what Cinder, Nova, the journal and activity tell.

    :param window_s: the window of an observation
    """

    cinder: Cloud
    telemetry: Telemetry
    journal: Journal
    nova: Compute
    window_s: float
    timeouts: Timeouts

    def diagnoses(self, inventory: Inventory,
                  watched: activity.Observed,
                  now: float) -> Iterator[Diagnosis]:
        """Diagnoses of the migrations under way and of copies left behind."""
        entries = clock_skew.corrected(self.journal.entries(), now)
        swaps = inquiry.swaps(self.cinder, self.nova, inventory, entries)
        inquiry.note(swaps.values(), self.journal, now)
        for diagnosis in stuck.diagnoses(
                inventory, watched, now, swaps,
                inquiry.unasked(self.nova, inventory, entries),
                self.timeouts.limit_s):
            yield self._confirmed(diagnosis, inventory, watched)

    def _confirmed(self, diagnosis: Diagnosis, inventory: Inventory,
                   watched: activity.Observed) -> Diagnosis:
        """One that counts as forgotten, by the logical volumes there are."""
        if not diagnosis.forgotten:
            return diagnosis
        groups = copies.volume_groups(inventory)
        pools = self._pools(diagnosis, groups) & {*groups}
        try:
            names = {pool: self.cinder.logical_volumes(pool)
                     for pool in sorted(pools)}
        except errors.CloudError as exc:
            return dataclasses.replace(diagnosis, forgotten=False, why=(
                'Cinder does not list the logical volumes of '
                f'{" and ".join(sorted(pools))}: {exc}'.rstrip('.')))
        return recover.remembered(
            stuck.confirm(diagnosis, names, groups, watched),
            self.journal.entries())

    def _pools(self, diagnosis: Diagnosis,
               groups: Collection[str]) -> set[str]:
        """The pools that may have its logical volumes.

        Where it is on its target already its old one may be on any other,
        unless the journal has the request.
        """
        asked = [entry.facts['source'] for entry in self.journal.entries()
                 if entry.kind == 'request'
                 and entry.facts['volume'] == diagnosis.record.id]
        if not asked and len(groups) <= _MOST_ASKED and any(
                half.target_of and half.pool == diagnosis.record.pool
                for half in diagnosis.halves):
            return {*groups}
        return {*asked[-1:], *(end.pool for end in diagnosis.ends if end.pool)}

    def watch(self, inventory: Inventory,
              observed: activity.Observed) -> activity.Observed:
        """Activity over a window long enough for the diagnoses."""
        found = stuck.suspects(inventory)
        if not found:
            return observed
        ends = {*found, *(half.id for halves in found.values()
                          for half in halves)}
        return self.telemetry.observe(
            [place for place in join.places(inventory)
             if place.volume in ends],
            max(self.window_s, stuck.WATCH_S))

    def proven(self, found: Diagnosis, inventory: Inventory,
               disk: str | None, keep: bool) -> Diagnosis:
        """One that is stuck, by what was found on the compute host."""
        ends = {end.id for end in found.ends}
        recent = self.telemetry.observe(
            [place for place in join.places(inventory)
             if place.volume in ends], swap.LOOK_S)
        return self._confirmed(swap.proven(found, recent, disk, keep),
                               inventory, recent)
