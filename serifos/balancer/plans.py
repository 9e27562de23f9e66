# SPDX-License-Identifier: Apache-2.0
"""Plans that are stored, for all balancers of a cloud; and those in files."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
import math
import os
from typing import Protocol

from serifos.files import documents
from serifos.plan.plan import Plan


class Plans(Protocol):
    """The port of what stores plans.

    What ``say`` is called with is a sentence for each plan that cannot be
    read. All raise SerifosError where the plans cannot be reached.
    """

    def keep(self, plan: Plan, now: float,
             say: Callable[[str], None]) -> Plan:
        """Stores a plan, whole or not at all, and deletes old ones.

        Where the last valid plan has the same moves, it is kept instead.

        :param now: seconds of the epoch
        :returns: the plan that is kept
        """

    def every(self, say: Callable[[str], None],
              expires_after: float = -math.inf,
              ids: Collection[str] | None = None) -> list[Plan]:
        """The plans that are there, expired ones too; changes nothing.

        :param expires_after: only those that expire later, seconds of the
            epoch
        :param ids: only of those that are wanted; None for all
        """

    def stored(self, plan_id: str) -> Plan:
        """The plan with this id.

        :raises InputError: where there is none, or it cannot be read
        """


def find(stored: Plans, named: str) -> Plan:
    """The plan in this file, or with this id among those that are stored.

    :raises InputError: where there is none, or it cannot be read
    """
    if os.path.isfile(named):
        return documents.read_plan(named)
    return stored.stored(named)
