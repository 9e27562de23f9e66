# SPDX-License-Identifier: Apache-2.0
"""Measured runs and their machine: ``NAME.jsonl`` in memory."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import itertools
import statistics
from typing import Any
import zlib

from serifos import errors
from serifos.facts import distribution
from serifos.facts import fields
from serifos.facts.workload import Workload

DATASET_SCHEMA = 'serifos-dataset/1'

FIGURES = ('latency_us', 'request_latency_us', 'read_latency_us',
           'write_latency_us', 'read_p99_us', 'write_p99_us', 'read_iops',
           'write_iops')
"""The figures of a run that a model may predict."""

PAGE_CACHE = 'page_cache_mib'
"""Of a header's device: the memory of the page cache that its runs passed. It
is missing where they were made without one, as those of models are."""

Key = tuple[tuple[float, ...], ...]
"""Of runs of the same workloads: their sorted patterns, then what tells their
conditions apart, where they have any."""

CONDITIONS = ('file_set_gib', 'scheduler')
"""The names of what a :class:`Condition` has."""

_ASKED = ('write_pct', 'block_kib', 'iodepth', 'random_pct',
          'think_time_us')
_NONE = -1.0


@dataclasses.dataclass(frozen=True, slots=True)
class Condition:
    """What a run is made under; None where it is as it always is.

    Factors of Table 1 of [1]_.

    :param file_set_gib: size of the files that all its workloads share, GiB
    :param scheduler: I/O scheduler of the block device, such as mq-deadline

    .. [1] Noorshams, Bruhn, Kounev, Reussner: Predictive Performance Modeling
       of Virtualized Storage Systems using Optimized Statistical Regression
       Techniques, ICPE 2013.
    """

    file_set_gib: float | None = None
    scheduler: str | None = None

    @property
    def key(self) -> tuple[tuple[float, ...], ...]:
        """Numbers that tell conditions apart; none where there are none."""
        if self == Condition():
            return ()
        return ((_NONE if self.file_set_gib is None else self.file_set_gib,
                 _NONE if self.scheduler is None
                 else float(zlib.crc32(self.scheduler.encode()))),)

    @property
    def words(self) -> str:
        """Such as 'on 0.5 GiB, by mq-deadline'; empty without any."""
        return ', '.join([
            *([] if self.file_set_gib is None
              else [f'on {self.file_set_gib:g} GiB']),
            *([] if self.scheduler is None else [f'by {self.scheduler}'])])

    @classmethod
    def from_json(cls, doc: Mapping[str, Any]) -> Condition:
        """Those of a validated line of a dataset."""
        return cls(doc.get('file_set_gib'), doc.get('scheduler'))

    def to_json(self) -> dict[str, Any]:
        """Without what is None."""
        return {name: value for name in CONDITIONS
                if (value := getattr(self, name)) is not None}


@dataclasses.dataclass(frozen=True)
class Sample:
    """One run: workloads run together, and the latency that each saw.

    :param workloads: as requested; q is the requested iodepth, not the one
        observed in the run
    :param latency_us: the mean over the workloads of each one's mean, µs
    :param request_latency_us: the mean over all requests, µs, or None
    :param seen: the figures of each workload, named as in the file format
    :param condition: what else it was made under
    """

    workloads: tuple[Workload, ...]
    latency_us: float
    request_latency_us: float | None = None
    round: int = 1
    seen: tuple[Mapping[str, Any], ...] = ()
    condition: Condition = Condition()

    @property
    def count(self) -> int:
        return len(self.workloads)

    @property
    def key(self) -> Key:
        return key(self.workloads, self.condition)

    @property
    def words(self) -> str:
        """The run as predict takes it: 50:4:8:100 2x; a think time last."""
        parts: dict[str, int] = {}
        for w in self.workloads:
            asked, *think = w.pattern[:4], *w.pattern[4:]
            text = ':'.join(f'{value:g}' for value
                            in (*asked, *filter(None, think)))
            parts[text] = parts.get(text, 0) + 1
        return ' '.join(text + f' {n}x' * (n > 1)
                        for text, n in parts.items())

    @property
    def tenants(self) -> tuple[Workload, ...]:
        """The workloads with the q that planning would know.

        That is the requested iodepth; for a workload with think time the
        observed outstanding I/Os, which are fewer (Little's law).
        """
        return tuple(
            dataclasses.replace(workload, iops=saw.get('iops'),
                                latency_us=saw.get('latency_us'))
            if workload.think_time_us else workload
            for workload, saw in itertools.zip_longest(
                self.workloads, self.seen, fillvalue={}))

    def figure(self, name: str) -> float | None:
        """A run-level figure: the mean over the workloads that have it."""
        if name in ('latency_us', 'request_latency_us'):
            return getattr(self, name)
        values = [w[name] for w in self.seen if w.get(name) is not None]
        return statistics.fmean(values) if values else None

    @classmethod
    def from_json(cls, doc: Mapping[str, Any]) -> Sample:
        """A validated line of a dataset as a Sample.

        :raises FormatError: where a distribution is none
        """
        for saw in doc['workloads']:
            distribution.refuse_wrong(saw)
        return cls(
            workloads=tuple(
                Workload(**{name: float(w[name])
                            for name in _ASKED if name in w})
                for w in doc['workloads']),
            latency_us=doc['latency_us'],
            request_latency_us=doc.get('request_latency_us'),
            round=doc.get('round', 1),
            seen=tuple({name: value for name, value in w.items()
                        if name not in _ASKED} for w in doc['workloads']),
            condition=Condition.from_json(doc))

    def to_json(self) -> dict[str, Any]:
        seen = self.seen or ({},) * self.count
        return {
            'workloads': [
                {**dict(zip(_ASKED, workload.pattern)), **saw}
                for workload, saw in zip(self.workloads, seen)],
            'latency_us': self.latency_us,
            'request_latency_us': self.request_latency_us,
            'round': self.round, **self.condition.to_json()}


def key(workloads: Iterable[Workload],
        condition: Condition = Condition()) -> Key:
    """The same for runs of the same workloads, whatever their order."""
    return (*sorted(workload.pattern for workload in workloads),
            *condition.key)


@dataclasses.dataclass(frozen=True)
class Header:
    """The machine and the conditions of a dataset."""

    device: Mapping[str, Any]
    host: str | None = None
    kernel: str | None = None
    fio: str | None = None
    runtime_s: float | None = None
    valid_round: int = 1
    created_at: str | None = None

    @classmethod
    def from_json(cls, doc: Mapping[str, Any]) -> Header:
        """A validated first line of a dataset as a Header."""
        known = {field.name for field in dataclasses.fields(cls)}
        return cls(**{name: value for name, value in doc.items()
                      if name in known} | {
                          'device': fields.plain(doc['device'])})

    def to_json(self) -> dict[str, Any]:
        return {'schema': DATASET_SCHEMA, **dataclasses.asdict(self)}

    def differences(self, other: Header) -> list[str]:
        """What differs between two machines, see :func:`differences`."""
        return [
            *differences(self.device, other.device,
                         ('model', 'serial', 'size_gib', 'target')),
            *differences(vars(self), vars(other), ('host', 'kernel', 'fio'))]


def differences(ours: Mapping[str, Any], theirs: Mapping[str, Any],
                names: Iterable[str]) -> list[str]:
    """The facts of these names that differ, as 'NAME OURS and THEIRS'."""
    return [f'{name} {words(ours.get(name))} and {words(theirs.get(name))}'
            for name in names if ours.get(name) != theirs.get(name)]


def words(value: Any) -> str:
    """A fact as a person writes it: none, yes, 1.5, 1,64."""
    if isinstance(value, bool):
        return 'yes' if value else 'no'
    if isinstance(value, float):
        return f'{value:.12g}'
    if isinstance(value, (list, tuple)):
        return ','.join(map(words, value))
    return 'none' if value in (None, '') else str(value)


@dataclasses.dataclass(frozen=True)
class Dataset:
    """The runs of one machine."""

    header: Header
    samples: tuple[Sample, ...]

    def valid(self) -> tuple[Sample, ...]:
        """The runs of the round that is valid.

        :raises InputError: where there is none
        """
        valid = tuple(sample for sample in self.samples
                      if sample.round == self.header.valid_round)
        if not valid:
            raise errors.InputError(
                f'The dataset has no run of round {self.header.valid_round}, '
                'the valid one; finish its build, or set valid_round '
                'in its first line.')
        return valid

    def refuse_common(self, trained: Dataset, name: object) -> None:
        """Refuses runs that a model which is to be tested was fitted to.

        :param name: of this dataset, for the sentence
        :raises InputError: where one is in both
        """
        known = {(sample.key, sample.round, sample.latency_us)
                 for sample in trained.samples}
        common = sum((sample.key, sample.round, sample.latency_us) in known
                     for sample in self.samples)
        if common:
            raise errors.InputError(
                f'{common} of the {len(self.samples)} runs of {name} are '
                'fitted to as well, so that they test nothing; give runs '
                'that were measured apart.')

    @classmethod
    def of(cls, headers: Iterable[Header],
           samples: Iterable[Sample]) -> Dataset:
        """One dataset from a file's headers and runs.

        :raises InputError: where the headers name different machines
        """
        first, *others = headers
        for other in others:
            apart = first.differences(other)
            if apart:
                raise errors.InputError(
                    f'The dataset mixes two machines ({"; ".join(apart)}); '
                    'a model describes one: split the file at its headers.')
        return cls(first, tuple(samples))
