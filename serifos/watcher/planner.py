# SPDX-License-Identifier: Apache-2.0
"""Planner of Watcher: one action after the other.

A move may count on an earlier one of its plan, which leaves the device that
this one comes to; and copies at the same time slow tenants down together.
"""

from __future__ import annotations

from watcher.decision_engine.planner import weight


class InTurn(weight.WeightPlanner):
    """The actions in the order of the plan, never two at a time."""

    action_weights = {'serifos_migrate': 1}
    parallelization = {'serifos_migrate': 1}
