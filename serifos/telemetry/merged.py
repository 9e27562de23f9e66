# SPDX-License-Identifier: Apache-2.0
"""Merge the readings of exporters that followed one another on a host.

Pure. A pod that is replaced, or a job that is renamed, gives the series of a
host other labels: the counters go on, and so does what is known. Only where
two exporters were read at the same time is it not known which one is right.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable
from collections.abc import Sequence
import itertools
import operator

from serifos.telemetry import counters

_INSTANT_S = 0.001
"""How finely Prometheus keeps times."""


def readings(several: Sequence[Sequence[counters.Reading]], longest_s: float,
             why: Callable[[Sequence[int]], str]) -> list[counters.Reading]:
    """The readings of a host, oldest first.

    :param several: those of each of its exporters, oldest first
    :param longest_s: between two readings; more is a gap
    :param why: what is wrong where these, by their numbers, were read at
        the same time
    """
    spans = [_spans(its, longest_s) for its in several]
    starts, ends = map(sorted, zip(*itertools.chain(*spans), strict=True)
                       ) if any(spans) else ((), ())
    double = [{at for start, end in its for at in (start, end)
               if bisect.bisect_left(starts, end)
               - bisect.bisect_right(ends, start) > 1} for its in spans]
    those = [nth for nth, times in enumerate(double) if times]
    fault = why(those) if those else None
    return sorted(
        (counters.Reading(reading.at, fault=fault) if reading.at in times
         else reading for its, times in zip(several, double)
         for reading in its), key=operator.attrgetter('at'))


def _spans(its: Sequence[counters.Reading],
           longest_s: float) -> list[tuple[float, float]]:
    """The time for which each reading stands: since the one before it."""
    times = [reading.at for reading in its]
    return [(since if at - since <= longest_s else at - _INSTANT_S, at)
            for since, at in itertools.pairwise([float('-inf'), *times])]
