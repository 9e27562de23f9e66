# SPDX-License-Identifier: Apache-2.0
"""Share of requests that a cache serves: p1 and p2.

From the distributions of the response times in the runs of a dataset, where
they have two modes: see :func:`parted`. A run counts whose requests are all
reads, or all writes: where both are mixed, reads that wait for writes are slow
too. And a class counts whose modes are there with the fewest clients: modes
that come with more of them are of requests that wait. A distribution of one
mode is of hits only where it is below the valley of a run that is no heavier,
whose misses were slower; it is of misses only above that of a run that is no
lighter.

The share of the misses may step up with the clients: the cases s1 and s2 of
the paper, whose p1 is 48.32 % to 30 threads and 99.91 % above.

Noorshams, Rostami, Kounev, Reussner: I/O Performance Modeling of Virtualized
Storage Systems, section IV-D.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import itertools
import math

import numpy as np
import numpy.typing as npt

from serifos.facts.dataset import Sample
from serifos.facts import distribution
from serifos.facts.workload import Load
from serifos.model.queueing import cases
from serifos.model.queueing import predict as queueing

Floats = npt.NDArray[np.float64]

LEAST = 3
"""Workloads of a class whose hits and misses are apart, at least; with fewer
clients than a step, and with more, too."""

_ALL = 0.98
_EXACT = 0.03  # shares closer than that may be the same

APART = 2 * distribution.PER_DOUBLING
"""Intervals between two modes, at least."""

SHOULDER = 0.8
"""What the valley between two modes is of the lower peak at the most."""

EMPTY = 0.1
"""The same where they are clearly apart."""

LEAST_SHARE = 0.05
"""The share of the requests that are of the first or last mode, at least."""

BETWEEN = 0.1
"""The same of a mode between others: fewer are hits that were held up."""

_LEVEL = 0.02  # of the lower peak, what is no matter of depth

_Mode = tuple[int, int]  # the intervals of its first and last peak


@dataclasses.dataclass(frozen=True)
class Times:
    """The response times of a workload in a run of only reads or only writes.

    :param label: the class of most of its requests
    :param load: of the run, what makes a request slow: clients, KiB
        outstanding, KiB of a request of this workload
    :param volumes: that were used in the run
    """

    run: int
    label: str
    load: tuple[float, float, float]
    times: distribution.Distribution
    parted: Parted | None
    volumes: float

    @property
    def clients(self) -> float:
        return self.load[0]


@dataclasses.dataclass(frozen=True)
class Judged:
    """The same, with the share of the requests that missed; None: unknown."""

    seen: Times
    misses: float | None


@dataclasses.dataclass(frozen=True)
class Found:
    """What the distributions of a class tell.

    :param share: None where they do not determine it
    :param deviation: the standard deviation of p1 over the workloads
    :param told: workloads that tell hits from misses, of all that have a
        distribution
    """

    share: cases.Share | None
    deviation: float
    told: int
    all: int

    @property
    def words(self) -> str:
        """Such as '48.3 % ± 9.6, by 25 of 40 distributions'."""
        by = f'{self.told} of {self.all} distributions'
        if self.share is None:
            return f'not determined: {by} tell hits from misses'
        its = self.share
        p1 = f'{100 * its.p1:.2f} %' if its.p1_few is None else (
            f'{100 * its.p1_few:.2f} % up to {its.clients:g} clients, '
            f'{100 * its.p1:.2f} % '
            'beyond')
        if its.volumes is not None:
            p1 = f'1 - {its.volumes:.3g} / volumes'
        return f'{p1} (± {100 * self.deviation:.2f} %), by {by}'


def times(samples: Sequence[Sample]) -> list[Times]:
    """The workloads of runs of only reads, or of only writes."""
    return [one for run, sample in enumerate(samples)
            for one in _times(run, sample)]


def judged(every: Sequence[Times]) -> list[Judged]:
    """Which of them tell hits from misses, by each other's valleys."""
    return [one for label in queueing.CLASSES
            for one in _of_class([one for one in every if one.label == label])]


def _of_class(every: Sequence[Times]) -> list[Judged]:
    apart = [one for one in every if one.parted]
    least = min((one.clients for one in every), default=0.0)
    light = [bool(one.parted) or _all(one, apart) is not None
             for one in every if one.clients == least]
    if 2 * sum(light) < len(light):
        return [Judged(one, None) for one in every]
    return [Judged(one, one.parted.slow if one.parted else _all(one, apart))
            for one in every]


def found(every: Sequence[Judged]) -> dict[str, Found]:
    """Class → what its distributions tell; those that have any."""
    return {label: _found(its) for label in queueing.CLASSES if (
        its := [one for one in every if one.seen.label == label])}


def shares(every: Mapping[str, Found]) -> dict[str, cases.Share]:
    """Those that are determined."""
    return {label: one.share for label, one in every.items() if one.share}


def media(every: Sequence[Judged],
          known: Mapping[str, cases.Share]) -> dict[int, float]:
    """Run → the share of its mean time that its requests spend at the media.

    Of runs of one outstanding request, which waits for no other: the quick
    mode is the time at the cache, the slow one that and the time at the
    media.

    :param known: class → the share of its requests that need the media
    """
    found = {}
    for seen in (one.seen for one in every):
        its = known.get(seen.label)
        if its and its.alone and seen.parted and round(seen.clients) <= 1:
            quick, slow = seen.parted.means_us
            found[seen.run] = 1 - quick / (quick + its.alone * (slow - quick))
    return found


def of_runs(every: Sequence[Judged], runs: int) -> Floats:
    """The share of each run's requests that missed: float[runs].

    The mean over its workloads; NaN where one of them does not tell.
    """
    misses: dict[int, list[float]] = {}
    for one in every:
        misses.setdefault(one.seen.run, []).append(
            math.nan if one.misses is None else one.misses)
    return np.array([np.mean(misses.get(run, [math.nan]))
                     for run in range(runs)])


def _times(run: int, sample: Sample) -> list[Times]:
    writes = {workload.write_pct for workload in sample.workloads}
    name = {0: 'read', 100: 'write'}.get(*writes) if len(writes) == 1 else None
    if name is None:
        return []
    load = sum(map(Load.of, sample.tenants), Load())
    seen = [(workload, distribution.of_seen(saw, name)) for workload, saw in
            zip(sample.workloads, sample.seen)]
    return [Times(
        run, f'{"random" if w.random_pct >= 50 else "sequential"}_{name}',
        (load.sum_iodepth, load.sum_q_s_r + load.sum_q_s_w, w.block_kib),
        its, parted(its), load.count) for w, its in seen if its]


def _all(one: Times, apart: Sequence[Times]) -> float | None:
    """0 where one mode is of hits, 1 where it is of misses, else None.

    :param apart: of the same class, those of two modes
    """
    for other in apart:
        below = _share_below(one.times, other.parted.cut_us)
        if below >= _ALL and _no_more(other.load, one.load):
            return 0.0
        if below <= 1 - _ALL and _no_more(one.load, other.load):
            return 1.0
    return None


def _no_more(a: Sequence[float], b: Sequence[float]) -> bool:
    return all(x <= y for x, y in zip(a, b))


def _share_below(times: distribution.Distribution, us: float) -> float:
    return max((share for end_us, share in zip(times.ends_us, times.shares)
                if end_us <= us), default=0.0)


def _found(every: Sequence[Judged]) -> Found:
    told = [one for one in every if one.misses is not None]
    y = np.array([one.misses for one in told], float)
    if len(told) < LEAST or not 0 < y.mean() < 1:
        return Found(None, math.nan, len(told), len(every))
    clients = np.array([one.seen.clients for one in told])
    volumes = np.array([one.seen.volumes for one in told])
    bounds = [None, *(float(t) for t in np.unique(clients) if LEAST <= (
        clients <= t).sum() <= len(told) - LEAST)]
    best = min(bounds, key=lambda bound: _criterion(y, clients, bound))
    p1 = float(y[clients > (best or 0)].mean())
    few = None if best is None else float(y[clients <= best].mean())
    if few is not None and few >= p1:  # see the queueing page
        best, few, p1 = None, None, float(y.mean())
    expected = np.full(len(y), p1)
    if best is not None:
        expected[clients <= best] = few
    share = cases.Share(p1, few, best, float(clients.max()),
                        single=bool(volumes.max() <= 1))
    held = _held(y, volumes)
    shared = np.maximum(0.0, 1 - held / volumes)
    if np.ptp(volumes) and _schwarz(y - shared, 1) < _schwarz(
            y - expected, 1 if best is None else 3):
        share, expected = cases.Share(1.0, volumes=held), shared
    deviation = float(np.sqrt(np.mean((y - expected) ** 2)))
    return Found(share, deviation, len(told), len(every))


def _held(y: Floats, volumes: Floats) -> float:
    """How many volumes' data a cache holds that they share evenly.

    By least squares of the shares that hit where some requests miss.
    """
    each = 1 / volumes[y > 0]
    return float(each @ (1 - y[y > 0]) / (each @ each))


def _criterion(y: Floats, clients: Floats, bound: float | None) -> float:
    """Schwarz's, of a share that steps after so many clients."""
    parts = [y] if bound is None else [y[clients <= bound],
                                       y[clients > bound]]
    return _schwarz(np.concatenate([part - part.mean() for part in parts]),
                    2 * len(parts) - 1)


def _schwarz(wrong: Floats, parameters: int) -> float:
    n = len(wrong)
    return n * math.log(wrong @ wrong / n + _EXACT ** 2) + (
        math.log(n) * parameters)


@dataclasses.dataclass(frozen=True)
class Parted:
    """Two modes.

    :param cut_us: the time where the valley ends and the slow mode begins
    :param slow: the share of the requests that took longer
    :param means_us: the mean of the quick mode and that of the slow one
    """

    cut_us: float
    slow: float
    means_us: tuple[float, float]


def parted(times: distribution.Distribution) -> Parted | None:
    """The two modes of a distribution, None where it has not exactly two.

    Requests that wait for one another have modes, too: of one, two, three
    times the time of one. So modes of less than two doublings from one to
    the next are taken for one, and a distribution of three modes says
    nothing.

    The constants were set on simulated caches and on real files of which the
    page cache held a known part: see :doc:`/reference/queueing`.
    """
    within = np.array(times.within)
    modes = _modes(within)
    if len(modes) != 2:
        return None
    (at,), (depth,), (_, slow) = _valleys(within, modes)
    if depth > EMPTY:
        return None
    half = 2 ** (0.5 / distribution.PER_DOUBLING)
    us = np.array(times.ends_us) / half
    quick = np.where(np.arange(len(us)) < at, within, 0.0)
    quick[at] = within[at] / 2
    return Parted(float(us[at]), slow, (
        float(us @ quick / quick.sum()),
        float(us @ (within - quick) / slow)))


def _modes(within: Floats) -> list[_Mode]:
    """The peaks that are neither shoulders nor rare, those nearby as one."""
    found: list[_Mode] = [
        (i, i) for i, here in enumerate(within)
        if here > 0 and (i == 0 or here > within[i - 1])
        and (i + 1 == len(within) or here >= within[i + 1])]
    while len(found) > 1:
        _, depths, shares = _valleys(within, found)
        gaps = [b[0] - a[1] for a, b in itertools.pairwise(found)]
        enough = np.divide(shares, [
            LEAST_SHARE, *[BETWEEN] * (len(found) - 2), LEAST_SHARE])
        shallow, rare, near = (int(np.argmax(depths)), int(np.argmin(enough)),
                               int(np.argmin(gaps)))
        if depths[shallow] > SHOULDER:
            pair = found[shallow:shallow + 2]
            found[shallow:shallow + 2] = [
                max(pair, key=lambda mode: _peak(within, mode))]
        elif enough[rare] < 1:
            del found[rare]
        elif gaps[near] < APART:
            found[near:near + 2] = [(found[near][0], found[near + 1][1])]
        else:
            break
    return found


def _valleys(within: Floats, modes: list[_Mode]
             ) -> tuple[list[int], list[float], list[float]]:
    """Between one mode and the next: where it is lowest, and how low.

    And the share of the requests that are of each mode.
    """
    places, depths = [], []
    for a, b in itertools.pairwise(modes):
        between = within[a[1]:b[0] + 1]
        lower = min(_peak(within, a), _peak(within, b))
        places.append(a[1] + _begins(between, lower))
        depths.append(float(between.min() / lower))
    done = np.cumsum(within)
    ends = [0.0, *(float(done[at] - within[at] / 2) for at in places), 1.0]
    return places, depths, np.diff(ends).tolist()


def _begins(between: Floats, lower: float) -> int:
    """Where the later of two modes begins: the place in what is between them.

    No request needs the media and takes less than they do, but a hit may take
    longer than most hits do, for an interrupt or a processor that is busy. So
    it is the last of the places that are as low as the lowest, or that are a
    valley of their own by which two modes were apart.

    :param lower: the lower of the two peaks
    """
    inner = between[1:-1]
    valleys = (inner < between[:-2]) & (inner <= between[2:]) & (
        inner <= EMPTY * lower)
    lowest = between <= between.min() + _LEVEL * lower
    lowest[1:-1] |= valleys
    return int(np.flatnonzero(lowest)[-1])


def _peak(within: Floats, mode: _Mode) -> float:
    return float(within[mode[0]:mode[1] + 1].max())
