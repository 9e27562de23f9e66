# SPDX-License-Identifier: Apache-2.0
"""The goal: the latency of volumes, levelled over their pools.

Its efficacy is what the models predict for the slowest pool.
"""

from __future__ import annotations

from collections.abc import Sequence

from watcher.decision_engine.goal import base
from watcher.decision_engine.goal.efficacy import base as efficacy
from watcher.decision_engine.goal.efficacy import indicators
from watcher.decision_engine.solution import efficacy as found


class _Indicator(indicators.IndicatorSpecification):

    schema = {'type': 'number', 'minimum': 0}


class VolumeMigrations(_Indicator):
    """How many volumes are to be migrated."""

    def __init__(self) -> None:
        super().__init__('volume_migrations_count',
                         'Volumes that are to be migrated.')


class WorstBefore(_Indicator):
    """The latency of the slowest pool as it is."""

    def __init__(self) -> None:
        super().__init__('worst_latency_before_ms', 'Latency that the models '
                         'predict for the slowest pool as it is.', 'ms')


class WorstAfter(_Indicator):
    """The latency of the slowest pool after the plan."""

    def __init__(self) -> None:
        super().__init__('worst_latency_after_ms', 'Latency that the models '
                         'predict for the slowest pool after the plan.', 'ms')


class Latency(efficacy.EfficacySpecification):
    """By how much the slowest pool gets faster."""

    def get_indicators_specifications(
            self) -> Sequence[indicators.IndicatorSpecification]:
        return VolumeMigrations(), WorstBefore(), WorstAfter()

    def get_global_efficacy_indicator(
            self, indicators_map: found.IndicatorsMap | None = None
            ) -> list[found.Indicator]:
        before = after = 0.0
        if indicators_map:
            before = indicators_map.worst_latency_before_ms
            after = indicators_map.worst_latency_after_ms
        return [found.Indicator(
            'worst_latency_reduction', 'By how much the predicted latency of '
            'the slowest pool falls.', '%',
            100 * (1 - after / before) if before else 0.0)]


class VolumeLatency(base.Goal):
    """Level the latency of volumes over their pools."""

    @classmethod
    def get_name(cls) -> str:
        return 'volume_latency'

    @classmethod
    def get_display_name(cls) -> str:
        return 'Volume Latency'

    @classmethod
    def get_translatable_display_name(cls) -> str:
        return 'Volume Latency'

    @classmethod
    def get_efficacy_specification(cls) -> Latency:
        return Latency()
