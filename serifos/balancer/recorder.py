# SPDX-License-Identifier: Apache-2.0
"""Writes down what volumes did since the last round, for days to come.

In whole minutes, a little behind the present, so that all hosts have been
read by then. Where the history cannot be written the round goes on without.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses

from oslo_log import log

from serifos.database.history_store import Store
from serifos import errors
from serifos.facts import activity
from serifos.facts.history import History
from serifos.facts.inventory import Inventory
from serifos.facts import times
from serifos.plan import eligibility
from serifos.telemetry import amounts

LOG = log.getLogger(__name__)

_SET_BACK_S = 300
"""By which a clock may be behind without being called so."""


@dataclasses.dataclass(frozen=True)
class Recorder:
    """Keeps a history of what a source only knows for minutes.

    :param source: its readings; None where it only tells means
    :param behind_s: until which all hosts have been read
    :param most_s: that are written at once
    """

    store: Store
    source: History | None = None
    behind_s: float = 0.0
    most_s: int = 1800

    @property
    def is_ours(self) -> bool:
        """Whether no other host reaches what is written."""
        return self.store.database.file is not None

    def record(self, inventory: Inventory,
               places: Sequence[activity.MeasuredVolume],
               observed: activity.Observed) -> None:
        """Writes what is known up to this observation, in one transaction.

        :param places: of the inventory; copies of migrations are left out
        """
        try:
            self._record([
                place for place in places if not eligibility.hidden(
                    inventory.record_by_id[place.volume])], observed)
        except errors.SerifosError as exc:
            LOG.warning('The history of this round is not kept: %s', exc)

    def _record(self, places: Sequence[activity.MeasuredVolume],
                observed: activity.Observed) -> None:
        step_s = self.store.tiers[0].step_s
        end = int((observed.at - self.behind_s) // step_s) * step_s
        if end <= 0:
            return
        until = self.store.until()
        begin = max(until, end - self.most_s)
        if until > end + _SET_BACK_S:
            LOG.warning('The history goes until %s, which lies in the '
                        'future: the clock here was ahead, or is behind '
                        'now. It goes on from now.', times.text(until))
            begin = end - _SET_BACK_S
        if begin >= end:
            return
        source = self.source or amounts.Means(observed)
        added = self.store.add(
            source.read(places, begin, end, step_s), until)
        LOG.debug('The history of %d volumes goes until %s%s.', len(places),
                  times.text(end), '' if added else ', by another balancer')
