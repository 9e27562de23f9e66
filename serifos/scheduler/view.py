# SPDX-License-Identifier: Apache-2.0
"""``pools.json`` and the models, as requests look at them."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import functools
from typing import NamedTuple

from serifos.facts.cluster import Volume
from serifos.facts import pools
from serifos.facts.workload import Load
from serifos.facts.workload import Workload
from serifos.model.model import Model
from serifos.scheduler import predict


class ModelledDevice(NamedTuple):
    """A device, and the model that predicts its latency."""

    device: str
    model: str


@dataclasses.dataclass(frozen=True, eq=False)
class View:
    """One state of the files; a new object for every change of them.

    :param models: by the stems of their files
    :param broken: stem → why its file is not a model of latency
    """

    pools: pools.Pools
    models: Mapping[str, Model]
    broken: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def place(self, pool: str, model: str) -> ModelledDevice | None:
        """The device of a pool, where its load is known."""
        found = self.pools.pool.get(pool)
        return None if found is None else ModelledDevice(found.device, model)

    @functools.cached_property
    def everyone(self) -> Load:
        """The sum of the Loads of all volumes, wherever they are."""
        return pools.load(self.pools.everyone)

    @functools.cached_property
    def has_slos(self) -> bool:
        """Whether there is an SLO of any volume."""
        return any(device.slos for device in self.pools.devices)

    def workload(self, volume: Volume) -> Workload | None:
        """The workload of a volume, or a typical one of its type."""
        means = self.pools.type.get(volume.volume_type)
        return volume.workload or (means and means.typical)

    def load(self, place: ModelledDevice) -> Load:
        return pools.load(self._device(place).load)

    def _device(self, place: ModelledDevice) -> pools.Device:
        """By another model, where the file has it only by that."""
        return self.pools.place.get(place) or self.pools.device[place.device]

    def correction(self, place: ModelledDevice) -> float:
        """The factor of predictions there."""
        return self.pools.correction.get(place, 1.0)

    def slos(self, place: ModelledDevice) -> list[predict.Slo]:
        """The SLOs on a device that are the first to be violated."""
        return [predict.Slo(pools.load(slo.load), slo.max_latency_us,
                            slo.volume)
                for slo in self._device(place).slos]

    @functools.cached_property
    def typical(self) -> Mapping[ModelledDevice, predict.Prediction]:
        """The predictions with a typical newcomer that the file has."""
        found = {}
        for its in self.pools.devices:
            model = self.models.get(its.model)
            if model is not None and its.latency_us is not None:
                place = ModelledDevice(its.name, its.model)
                by = self.correction(place)
                found[place] = predict.prediction_of(
                    by * its.latency_us, model, by * its.latency_us,
                    [by * slo.seen_us for slo in its.slos],
                    self.slos(place))
        return found
