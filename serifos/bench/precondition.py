# SPDX-License-Identifier: Apache-2.0
"""Precondition a device: purge, fill, bring to steady state.

After SNIA's Solid State Storage Performance Test Specification: purge, then
128 KiB sequential writes over twice the capacity, then rounds of random
writes until their IOPS are in steady state: over the last five rounds they
stay within 20 % of their mean, and the least-squares line through them
changes by no more than 10 % of it. What was done is kept beside the
dataset, so that a resumed build neither purges nor fills again.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import pathlib
import statistics
from typing import Any

from serifos.bench import fio
from serifos.bench import sizes
from serifos.bench.target import Area
from serifos.bench.target import Target
from serifos import errors
from serifos.facts.dataset import Sample
from serifos.facts import fields
from serifos.facts import strict_json
from serifos.facts.workload import Workload
from serifos.files import atomic
from serifos.files import documents

SCHEMA = 'serifos-precondition/1'
TIMES = 2
"""How often the whole capacity is written (SNIA: twice)."""

PATTERN = Workload(write_pct=100, block_kib=4, iodepth=8)
"""A round of settling: this on each piece of the target, IOPS added."""

_CHUNK = 4 * 2 ** 30
_LEAST_IOPS = 1e-6

WINDOW = 5
EXCURSION = 0.20
SLOPE = 0.10


@dataclasses.dataclass(frozen=True)
class Progress:
    """The progress of preconditioning.

    :param written: bytes of the fill, all passes together
    :param iops: one figure a round of settling
    """

    identity: Mapping[str, Any]
    purge: str | None = None
    written: int = 0
    iops: tuple[float, ...] = ()

    @property
    def words(self) -> str:
        """What a dataset's header holds."""
        return (f'{self.purge}; {sizes.gib(self.written)} written in '
                f'order; settled after {len(self.iops)} rounds')


@dataclasses.dataclass(frozen=True)
class Rounds:
    """The rounds of settling.

    :param seconds: of one round
    :param most: rounds after which a device counts as one that never settles
    """

    seconds: float = 60.0
    most: int = 25

    def __post_init__(self) -> None:
        fields.refuse_outside('--settle-rounds', self.most, WINDOW,
                              10_000)
        fields.refuse_outside('--settle-seconds', self.seconds, 0.5, 86400,
                              's')


@dataclasses.dataclass(frozen=True)
class Ports:
    """What preconditioning needs beside the target.

    :param measure: runs one workload on each piece of the area
    :param fill: writes a piece once, in order
    :param progress: (what, done, of) after every step
    :param stop: whether the user wants to stop after the step in hand
    """

    measure: Callable[[Sequence[Workload], float], Sample]
    fill: Callable[[fio.Region], None]
    progress: Callable[[str, int, int], None]
    stop: Callable[[], bool]


def precondition(target: Target, area: Area, rounds: Rounds,
                 record: pathlib.Path, ports: Ports) -> Progress:
    """Purges, fills and settles an open target, or resumes where it was.

    :param record: the file that keeps the progress
    :raises DeviceError: where it never settles
    :raises Interrupted: after the step in hand, where the user stops
    """
    state = _begun(target, record)

    def keep(now: Progress) -> Progress:
        if not target.fresh:
            documents.write_json(record, {'schema': SCHEMA,
                                          **dataclasses.asdict(now)})
        if ports.stop():
            raise errors.Interrupted(
                'Stopped while preconditioning; ' + (
                    'the same command begins it again.' if target.fresh else
                    f'what is done is noted in {record}, and the same '
                    'command resumes.'))
        return now

    if state.purge is None and area.purge is not None:
        ports.progress('purge', 0, 1)
        state = keep(dataclasses.replace(state, purge=area.purge()))
        ports.progress('purge', 1, 1)
    state = _fill(area, state, keep, ports)
    return _settle(area, rounds, state, keep, ports)


def _fill(area: Area, state: Progress, keep: Callable[[Progress], Progress],
          ports: Ports) -> Progress:
    chunks = [
        dataclasses.replace(piece, offset=piece.offset + at,
                            size=min(_CHUNK, piece.size - at))
        for _ in range(TIMES) for piece in area.pieces
        for at in range(0, piece.size, _CHUNK)]
    total, written = sum(chunk.size for chunk in chunks), 0
    for chunk in chunks:
        written += chunk.size
        if written <= state.written:
            continue
        ports.fill(chunk)
        ports.progress('fill', written, total)
        state = keep(dataclasses.replace(state, written=written))
    return state


def _settle(area: Area, rounds: Rounds, state: Progress,
            keep: Callable[[Progress], Progress], ports: Ports) -> Progress:
    while not (verdict := steadiness(state.iops)).ok:
        if len(state.iops) >= rounds.most:
            raise errors.DeviceError(
                f'{area.pieces[0].path} has not settled in '
                f'{len(state.iops)} rounds (excursion '
                f'{100 * verdict.excursion:.0f} % of 20 %, slope '
                f'{100 * verdict.slope:.0f} % of 10 %); give more '
                '--settle-rounds, '
                'or --precondition skip to measure it as it is.')
        sample = ports.measure([PATTERN] * len(area.pieces), rounds.seconds)
        iops = (*state.iops, sum(one['write_iops'] for one in sample.seen))
        ports.progress('settle', len(iops), rounds.most)
        state = keep(dataclasses.replace(state, iops=iops))
    return state


def _begun(target: Target, record: pathlib.Path) -> Progress:
    new = Progress({name: target.identity[name]
                    for name in ('model', 'serial', 'size_gib', 'target')})
    if target.fresh or not record.exists():
        return new
    try:
        was = parse(atomic.read_text(record, 'record of preconditioning'))
    except errors.InputError:
        raise errors.FormatError(
            f'{record} cannot be read; remove it to precondition again.'
        ) from None
    return was if was.identity == new.identity else new


def parse(text: str) -> Progress:
    """The progress that a record holds.

    :raises FormatError: where it is not a record
    """
    doc = strict_json.read(text, 'the record', errors.FormatError)
    doc['schema'].one_of([SCHEMA])
    return Progress(
        doc['identity'].object(), doc['purge'].text_or_none(),
        doc['written'].whole(),
        tuple(one.number(_LEAST_IOPS) for one in doc['iops'].items()))


@dataclasses.dataclass(frozen=True)
class Steadiness:
    """Fractions of the window's mean, and the verdict.

    :param excursion: greatest minus least
    :param slope: what the fitted line changes by over the window
    """

    excursion: float
    slope: float
    ok: bool


def steadiness(values: Sequence[float]) -> Steadiness:
    """The verdict on the last rounds; not settled before there are five.

    :param values: one figure a round, such as IOPS, all positive
    """
    window = values[-WINDOW:]
    if len(window) < WINDOW or not sum(window) > 0:
        return Steadiness(float('inf'), float('inf'), False)
    mean = statistics.fmean(window)
    excursion = (max(window) - min(window)) / mean
    line = statistics.linear_regression(range(WINDOW), window)
    slope = abs(line.slope) * (WINDOW - 1) / mean
    return Steadiness(excursion, slope,
                      excursion <= EXCURSION and slope <= SLOPE)
