# SPDX-License-Identifier: Apache-2.0
"""Runs of only reads and only writes, before another design.

A queueing network is told the share of the requests that a cache serves by
the distribution of the response times, which has two modes only where nothing
else makes requests slow: in runs of one direction, of one workload, with small
requests and few of them outstanding. Other designs have next to none of
these.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Sequence
import dataclasses

from serifos.design import design
from serifos.design import stopping
from serifos.facts import dataset

SPACE = design.Space(write_pcts=(0, 100), block_kibs=(4, 8), counts=(1,),
                     iodepths=(1, 2, 4, 8))
"""The space of these runs where none is asked for."""


def runs(space: design.Space = SPACE) -> tuple[design.Run, ...]:
    """Those that a space has, of its smallest blocks and depths."""
    least = dataclasses.replace(
        space, counts=SPACE.counts, **{
            name: tuple(sorted(set(getattr(space, name)))
                        [:len(getattr(SPACE, name))])
            for name in ('block_kibs', 'iodepths', 'think_times_us')})
    return tuple((workload,) for workload in least.patterns
                 if workload.write_pct in SPACE.write_pcts)


@dataclasses.dataclass(frozen=True)
class AloneFirst:
    """Another design whose runs are chosen one after another, after these.

    :param alone: they are made in any case
    """

    alone: tuple[design.Run, ...]
    then: stopping.SequentialDesign

    @property
    def first(self) -> int:
        return len(self.alone) + self.then.first

    @property
    def runs(self) -> tuple[design.Run, ...]:
        """All runs in order, if none fails and none is left out."""
        return self.alone + self.then.runs

    def following(self, made: Sequence[design.Run],
                  without: Collection[dataset.Key] = ()) -> tuple[design.Run,
                                                                  ...]:
        """The rest of the batch of the other design that the last are in."""
        left, others = [dataset.key(run) for run in self.alone], []
        for run in made:
            key = dataset.key(run)
            if key in left:
                left.remove(key)
            else:
                others.append(run)
        return self.then.following(others, without)
