# SPDX-License-Identifier: Apache-2.0
"""From when on a device is hot, and from which gain on a volume is moved.

As the limits say, but for pools (``serifos_hot_ratio``) and volume types
(``serifos:min_gain``) that say so themselves. Of the pools of one device the
lowest hot_ratio counts, and of volumes that move together the greatest
min_gain.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses

import numpy as np
import numpy.typing as npt

from serifos.facts.cluster import Pool
from serifos.facts.cluster import Volume
from serifos.plan.limits import keeps
from serifos.plan.limits import Limits

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]
Bools = npt.NDArray[np.bool_]


@dataclasses.dataclass(frozen=True, eq=False)
class Thresholds:
    """What a move has to reach.

    :param hot_ratio: float[devices]
    :param min_gain: float[volumes]
    :param by_type: bool[volumes], whether it is a volume type's own
    :param keeps: float[volumes], the part of a figure that may remain; as
        :attr:`.limits.Limits.keeps`
    """

    hot_ratio: Floats
    min_gain: Floats
    by_type: Bools
    keeps: Floats

    @classmethod
    def of(cls, limits: Limits, pools: Sequence[Pool], device: Ints,
           volumes: Sequence[Volume], bundle: Ints) -> Thresholds:
        """The thresholds of a cluster.

        :param device: int[pools], the device of each
        :param bundle: int[volumes], the first that each moves together with
        """
        ratio = np.full(device.max(initial=-1) + 1, np.inf)
        np.minimum.at(ratio, device, [
            limits.hot_ratio if pool.hot_ratio is None else pool.hot_ratio
            for pool in pools])
        said = [volume.min_gain for volume in volumes]
        own = np.array([each is not None for each in said], bool)
        gain = np.array([limits.min_gain if each is None else each
                         for each in said], float)
        most = np.zeros(len(volumes))
        np.maximum.at(most, bundle, gain)
        usual = np.zeros(len(volumes), bool)
        usual[bundle[~own & (gain >= most[bundle])]] = True
        gain = most[bundle]
        return cls(ratio, gain, ~usual[bundle], keeps(gain))

    def nearly(self, source: Ints, target: Ints) -> Floats:
        """float[n]: how far above the mean several moves may leave targets.

        Half of hot_ratio, so that none becomes hot; of the lower one, so that
        none becomes hotter than its source was.
        """
        return np.minimum(
            self.hot_ratio[source], self.hot_ratio[target]) / 2
