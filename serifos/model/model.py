# SPDX-License-Identifier: Apache-2.0
"""A device's latency model: ``models/STEM.json`` in memory.

Standard library only: cinder-scheduler loads this module.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
import math
from typing import Any

from serifos.facts import fields
from serifos.facts import hot_by
from serifos.facts.workload import ACTIVE_FLOOR
from serifos.facts.workload import Load
from serifos.facts.workload import Workload
from serifos.model import kinds
from serifos.model import rates

MODEL_SCHEMA = 'serifos-model/1'

LIGHT = 8.0
"""Pools of fewer requests outstanding have deviations of their own."""

_SLACK = 0.01

P90_OF_MAE = 1.645 / 0.7979
"""Half of a normal 90 % interval, in mean absolute errors."""


@dataclasses.dataclass(frozen=True)
class Model:
    """The latency of a device under a Load.

    :param range: the training range, name → (least, greatest), of
        write_pct, block_kib, iodepth, random_pct and count
    :param quality: ``mre`` and more, as FORMATS says; ``interval`` holds the
        5 % and 95 % quantile of (measured - predicted) / predicted;
        ``deviations``, of a kind that predicts what tenants see, those of
        log(measured / predicted) / log_std; ``tenant_deviations`` the same
        of what one tenant sees; where their names begin with ``light_``,
        on pools of fewer than :data:`LIGHT` requests outstanding
    :param parameters: the coefficients as the file writes them
    :param settings: of the fit, such as minsplit
    :param best: the best rates of the device, below whose latency nothing is
        predicted
    :param tails: models of 99th percentiles of the same device, by the figure
        of a run that they predict
    """

    name: str
    kind: str
    parameters: Mapping[str, Any]
    range: Mapping[str, tuple[float, float]]
    quality: Mapping[str, Any]
    predicts: str = 'latency_us'
    device: Mapping[str, Any] | None = None
    dataset: Mapping[str, Any] | None = None
    settings: Mapping[str, float] = dataclasses.field(default_factory=dict)
    tails: Mapping[str, Model] = dataclasses.field(default_factory=dict)
    best: rates.Rates = rates.Rates()

    @property
    def runs(self) -> int | None:
        """That it was fitted to; None where its file tells no number."""
        try:
            return fields.Field((self.dataset or {}).get('runs')).whole(1)
        except ValueError:
            return None

    @functools.cached_property
    def predictor(self) -> kinds.Predictor:
        return kinds.predictor(self.kind, self.parameters)

    def load(self, workloads: Iterable[Workload | None],
             floor: float = ACTIVE_FLOOR) -> Load:
        """The sum of the workloads, those outside the range counted."""
        return Load.total(
            Load.of(each, bool(self.outside(each)), floor)
            for each in workloads
            if each is not None and each.is_active(floor))

    def predict(self, load: Load) -> float:
        """µs (or the unit of ``predicts``); 0 for a count of 0."""
        return max(self.predictor.predict(load), self.best.least(load))

    @property
    def tenants(self) -> bool:
        """Whether the kind tells what each tenant sees."""
        return self.telling is not None

    @functools.cached_property
    def telling(self) -> kinds.TenantPredictor | None:
        """The predictor where the kind tells that, else None."""
        its = self.predictor
        return its if isinstance(its, kinds.TenantPredictor) else None

    def tenant(self, load: Load, workload: Workload) -> kinds.Seen:
        """What a workload sees in a pool of a Load, itself included.

        The mean of the pool where the kind does not tell more.
        """
        if self.telling is not None:
            own = Load.of(workload, floor=0.0)
            return self.telling.tenant(load, workload).at_least(
                self.best.least(load, own))
        return kinds.Seen(self.predict(load))

    def tenant_interval(self, load: Load, workload: Workload
                        ) -> tuple[float, float] | None:
        """The 90 % interval of what a workload sees; None where unknown."""
        middle = self.tenant(load, workload).latency_us
        ends = self.ends('tenant_deviations', load.sum_iodepth)
        if middle is None or not ends or self.telling is None:
            return None
        log_std = self.telling.tenant_log_std(load, workload)
        low, high = (middle * math.exp(end * log_std) for end in ends)
        return low, high

    def outside(self, workload: Workload) -> tuple[str, ...]:
        """The inputs of a workload that lie outside the training range."""
        q = workload.outstanding
        inputs = {'write_pct': workload.write_pct,
                  'block_kib': workload.block_kib, 'iodepth': q,
                  'random_pct': workload.random_pct}
        return tuple(name for name, value in inputs.items()
                     if not self._covers(name, value))

    @functools.cached_property
    def covered(self) -> Mapping[str, tuple[float, float]]:
        """Input → its least and greatest value that count as trained on.

        A hundredth beyond the range is within it: what is observed is not
        that exact, and one request more must not make a pool look slower by
        the whole width of an interval.
        """
        return {name: (least * (1 - _SLACK), greatest * (1 + _SLACK))
                for name, (least, greatest) in self.range.items()}

    def _covers(self, name: str, value: float) -> bool:
        least, greatest = self.covered.get(name, (value, value))
        return least <= value <= greatest

    def extrapolates(self, load: Load) -> bool:
        """Whether a Load lies outside of the training range."""
        return load.count > 0 and bool(
            load.outside or not self._covers('count', load.count))

    @functools.cached_property
    def relative_interval(self) -> tuple[float, float]:
        """The 90 % interval as fractions of the prediction, (low, high).

        Where a file states only its mean relative error, errors are taken
        as normal: ± 2.06 MRE. Where it states neither, the interval is the
        prediction itself.
        """
        if 'interval' in self.quality:
            low, high = self.quality['interval']
            return max(-1.0, low), high
        half = self.quality.get('mre', 0.0) * P90_OF_MAE
        return max(-1.0, -half), half

    def interval(self, load: Load) -> tuple[float, float]:
        """The 90 % prediction interval, in the unit of ``predicts``."""
        middle = self.predict(load)
        if self.deviations is not None:
            log_std = self.predictor.log_std(load)
            low, high = (math.exp(end * log_std)
                         for end in self.ends(
                             'deviations', load.sum_iodepth))
            return middle * low, middle * high
        low, high = self.relative_interval
        return middle * (1 + low), middle * (1 + high)

    @functools.cached_property
    def deviations(self) -> tuple[float, float] | None:
        """The 90 % interval in standard deviations, None if not known."""
        ends = self.quality.get('deviations')
        return tuple(ends) if ends and self.tenants else None

    def ends(self, name: str, outstanding: float) -> Sequence[float]:
        """The 90 % interval in standard deviations; empty where not known.

        :param name: of the quality: ``deviations``, ``tenant_deviations``
        :param outstanding: the requests of the pool
        """
        found = self.quality.get(name) or ()
        return self.quality.get(f'light_{name}', found) if (
            outstanding < LIGHT) else found

    def plan(self, load: Load) -> float:
        """The latency for planning: the upper end when extrapolating."""
        return self.predict(load) * self._above(load)

    def seen(self, load: Load,
             several: Sequence[Load]) -> list[float]:
        """The latencies for planning that tenants see in the mean, µs.

        That of the pool where the kind does not tell tenants apart.

        :param several: for each mean, the sum of the tenants' Loads
        """
        if self.telling is None:
            return [self.plan(load)] * len(several)
        above = self._above(load)
        return [above * max(mean, self.best.least(load, own))
                for mean, own in zip(
                    self.telling.means(load, several), several)]

    def _above(self, load: Load) -> float:
        """How far planning is above the prediction: a factor."""
        return self.above if self.extrapolates(load) else 1.0

    @functools.cached_property
    def above(self) -> float:
        """How far planning is above predictions outside of the range.

        A factor, the same for every Load: by one that another tenant may
        lower, what mine sees would fall.
        """
        return 1 + max(0.0, self.relative_interval[1])

    def work(self, load: Load) -> float:
        """About how many multiplications :meth:`plan` takes for a Load."""
        return self.predictor.work(load)

    @classmethod
    def from_json(cls, doc: Mapping[str, Any]) -> Model:
        """A validated ``serifos-model/1`` document as a Model.

        :raises FormatError: where the kind or a term is unknown
        """
        model = cls(
            name=doc['name'], kind=doc['kind'],
            parameters=doc['parameters'],
            range={name: tuple(ends) for name, ends in doc['range'].items()},
            quality=doc.get('quality') or {},
            predicts=doc.get('predicts', 'latency_us'),
            device=_plain(doc.get('device')),
            dataset=_plain(doc.get('dataset')),
            settings={name: value for name, value
                      in (doc.get('settings') or {}).items()
                      if fields.is_number(value, -math.inf, math.inf)},
            tails={figure: cls.from_json({'name': doc['name'], **tail,
                                          'predicts': figure})
                   for figure, tail in (doc.get('tails') or {}).items()
                   if figure in hot_by.TAILS.values()},
            best=rates.Rates.from_json(doc.get('best')))
        model.predictor  # refuses unknown terms while the file is at hand
        return model

    def to_json(self) -> dict[str, Any]:
        return {'schema': MODEL_SCHEMA, 'kind': self.kind, 'name': self.name,
                'predicts': self.predicts, 'tenants': self.tenants,
                'device': self.device,
                'dataset': self.dataset, 'range': dict(self.range),
                'quality': dict(self.quality),
                'settings': dict(self.settings),
                'parameters': dict(self.parameters),
                **({'best': self.best.to_json()}
                   if self.best != rates.Rates() else {}),
                **({'tails': {figure: tail._tail() for figure, tail
                              in self.tails.items()}} if self.tails else {})}

    def _tail(self) -> dict[str, Any]:
        """What a file says of it beside the mean of the same device."""
        return {name: value for name, value in self.to_json().items()
                if name in ('kind', 'range', 'quality', 'settings',
                            'parameters')}


def _plain(doc: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if doc is None else fields.plain(doc)
