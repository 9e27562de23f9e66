# SPDX-License-Identifier: Apache-2.0
"""Two modes of the response times of one workload, told apart.

A request that a cache serves is quick, one that needs the media is slow; where
both are frequent and far apart, the distribution of the times has two modes,
and the share of the requests beyond the valley between them is the share of
misses (Noorshams, Rostami, Kounev, Reussner: I/O Performance Modeling of
Virtualized Storage Systems, section IV-D).

Requests that wait for one another have modes, too: of one, two, three times
the time of one. So modes of less than two doublings from one to the next are
taken for one, and a distribution of three modes says nothing.
"""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import numpy.typing as npt

from serifos.facts import distribution

Floats = npt.NDArray[np.float64]

APART = 2 * distribution.PER_DOUBLING
"""Intervals between two modes, at least."""

SHOULDER = 0.8
"""What the valley between two modes is of the lower peak at the most."""

EMPTY = 0.1
"""The same where they are clearly apart."""

LEAST = 0.05
"""The share of the requests that are of the first or last mode, at least."""

BETWEEN = 0.1
"""The same of a mode between others: fewer are hits that were held up."""

_LEVEL = 0.02  # of the lower peak, what is no matter of depth

_Mode = tuple[int, int]  # the intervals of its first and last peak


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
            LEAST, *[BETWEEN] * (len(found) - 2), LEAST])
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
