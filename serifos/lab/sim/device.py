# SPDX-License-Identifier: Apache-2.0
"""Measure workloads on a simulated device.

A request passes one of many dies (its fixed cost, its program time, noise),
then a channel in order (its bytes). Beside that a device may have

- several channels, over which large requests are striped;
- a write buffer that drains at a pace of its own and holds the channel when
  it is full;
- a fast area (single-level cells) for writes, folded into the rest at a pace
  of its own: a write that finds it full goes to the rest directly and is
  slow, which is the cliff;
- garbage collection: random writes make a die collect, and all requests
  on that die wait;
- a cache with a share of the data that is read: hits need no die.

A :class:`.nand.Nand` is simulated page by page: :mod:`.nand`.

No kind of model has this form.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import functools
from typing import Any

import numpy as np

from serifos import errors
from serifos.facts.dataset import Sample
from serifos.facts import distribution
from serifos.facts.workload import Workload
from serifos.lab.sim import nand
from serifos.lab.sim import ssd as ssds
from serifos.lab.sim.tails import Tails

_UNTIL_FULL = 4  # part of the requests in which buffers fill

IOS = 6000
"""Requests after which a run ends, however long it was meant to be."""


@dataclasses.dataclass(frozen=True)
class SimulatedDevice:
    """A simulated SSD, and the random numbers of its runs.

    :param ios: requests after which a run ends; more where that would be
        less than 16 for each that is outstanding
    :param erratic: whether thinktimes are exponential, not constant; many
        such requesters are an open loop
    :param tails: of a measured device, laid over what workloads see; None
        for the simulation's own
    """

    ssd: ssds.Ssd | nand.Nand
    rng: np.random.Generator
    ios: int = IOS
    erratic: bool = False
    tails: Tails | None = None

    def measure(self, workloads: Sequence[Workload],
                runtime_s: float) -> Sample:
        """Runs workloads together for ``runtime_s`` of simulated time.

        :raises InputError: where there is no workload, or no time
        """
        if not workloads:
            raise errors.InputError('A run needs at least one workload.')
        if not runtime_s > 0:
            raise errors.InputError(
                f'A run of {runtime_s} s cannot be made; give more than 0.')
        flash = isinstance(self.ssd, nand.Nand)
        sample = _sample(workloads, *ssds.run(
            functools.partial(
                nand.requests if flash else ssds.requests,
                self.ssd, workloads, self.rng, self.erratic),
            workloads, runtime_s, self.ios,
            self.ios // _UNTIL_FULL if flash else 0))
        if self.tails is None:
            return sample
        return self.tails.over(sample, self.rng.spawn(1)[0])


def _sample(workloads: Sequence[Workload],
            seen: Sequence[ssds.Done], elapsed_us: float) -> Sample:
    who, write, latency = (np.array(column) for column in zip(*seen))
    each = tuple(_seen(latency[who == i], write[who == i], elapsed_us)
                 for i in range(len(workloads)))
    return Sample(
        workloads=tuple(dataclasses.replace(w, iops=None, latency_us=None)
                        for w in workloads),
        latency_us=float(np.mean([w['latency_us'] for w in each])),
        request_latency_us=float(latency.mean()), seen=each)


def _seen(latency: np.ndarray[Any, Any], write: np.ndarray[Any, Any],
          elapsed_us: float) -> dict[str, Any]:
    figures: dict[str, Any] = {'latency_us': float(latency.mean())}
    for name, part in (('read', latency[~write]), ('write', latency[write])):
        some = len(part) > 0
        figures[f'{name}_latency_us'] = float(part.mean()) if some else None
        figures[f'{name}_p99_us'] = (
            float(np.percentile(part, 99)) if some else None)
        figures[f'{name}_iops'] = len(part) / elapsed_us * 1e6
        if (times := _distribution(part)):
            figures[distribution.NAMES[name]] = times.to_json()
    return {**figures, 'iops': len(latency) / elapsed_us * 1e6}


def _distribution(latency: np.ndarray[Any, Any]
                  ) -> distribution.Distribution | None:
    """As :func:`.distribution.interval`, of many."""
    intervals, numbers = np.unique(np.ceil(
        distribution.PER_DOUBLING * np.log2(np.maximum(latency, 1e-3))
        ).astype(int), return_counts=True)
    return distribution.Distribution.of(
        dict(zip(intervals.tolist(), numbers.tolist())))
