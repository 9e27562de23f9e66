# SPDX-License-Identifier: Apache-2.0
"""What is written of a request that is over."""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import dataclasses
from typing import Any

from oslo_log import log

from serifos.balancer.moving import changes
from serifos.balancer.outcome import Outcome
from serifos.balancer.outcome import Timeouts
from serifos.balancer import pace
from serifos import errors
from serifos.facts.inventory import Cloud
from serifos.facts.journal import Entry
from serifos.facts.journal import failures_of
from serifos.facts.journal import Journal
from serifos.facts import times

LOG = log.getLogger(__name__)

_DAY_S = 86400.0


@dataclasses.dataclass(frozen=True)
class Closer:
    """Writes outcomes, and for how long volumes are left alone after them.

    :param clock: seconds of the epoch
    """

    cinder: Cloud
    journal: Journal
    timeouts: Timeouts
    clock: Callable[[], float]

    def close(self, asked: Entry, outcome: Outcome,
              copied_s: float | None = None) -> Outcome:
        """Writes the outcome of a request.

        :param copied_s: from the request until it was on its target
        """
        volume = asked.facts['volume']
        took = self.clock() - times.parse(asked.at)
        if outcome.failed:
            LOG.error('The migration of volume %s failed after %.0f s (%s): '
                      '%s.', volume, took, outcome.result, outcome.reason)
        elif outcome.lost:
            LOG.warning(
                'The migration of volume %s ended after %.0f s (%s): %s%s.',
                volume, took, outcome.result, outcome.reason, ''.join(
                    f'; {line}' for line in changes.commands(
                        volume, outcome.lost, outcome.project)))
        else:
            LOG.info('The migration of volume %s ended after %.0f s (%s): '
                     '%s.', volume, took, outcome.result, outcome.reason)
        self.journal.write('outcome', volume=volume, result=outcome.result,
                           reason=outcome.reason,
                           source=asked.facts['source'],
                           target=asked.facts['target'],
                           seconds=round(took, 1),
                           **_lost(outcome),
                           **self._copies(volume, outcome),
                           **pace.achieved(asked, outcome.result, copied_s))
        if outcome.backs_off:
            self._back_off(volume)
        return outcome

    def _copies(self, volume: str, outcome: Outcome) -> dict[str, Any]:
        """The copies of a migration that is given up, where these are known.

        A later recovery tells by them whether it is this one's.
        """
        if outcome.result == 'timeout':
            with contextlib.suppress(errors.CloudError):
                return {'copies': [half.id for half
                                   in self.cinder.halves(volume)]}
        return {}

    def _back_off(self, volume: str) -> None:
        failures = failures_of(self.journal.entries(), volume)
        seconds = min(_DAY_S, self.timeouts.back_off_s
                      * 2 ** max(0, failures - 1))
        until = times.text(self.clock() + seconds)
        self.journal.write('back-off', volume=volume, until=until)


def _lost(outcome: Outcome) -> dict[str, Any]:
    return {'lost': outcome.lost, 'project': outcome.project} if (
        outcome.lost) else {}
