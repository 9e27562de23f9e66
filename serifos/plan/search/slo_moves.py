# SPDX-License-Identifier: Apache-2.0
"""Moves that restore SLOs, or reduce what they are exceeded by.

Of each device those that restore one are made first, then, if asked, those
that reduce a violation; of either the one that lowers most the sum of what
tenants see beyond their SLOs. On a small cloud each volume of a device is
priced with each of the coolest pools, one device after another; on a large
one many devices make a move at once, in :mod:`.rounds`.
"""

from __future__ import annotations

from collections.abc import Collection
import dataclasses

import numpy as np

from serifos.plan import copying
from serifos.plan import limits
from serifos.plan import outcomes
from serifos.plan.plan import Cause
from serifos.plan.problem import Bools
from serifos.plan.problem import Floats
from serifos.plan.problem import Ints
from serifos.plan.quota import Quota
from serifos.plan.search import rounds
from serifos.plan.state import State
from serifos.plan import violations

LIKELY = 12
"""Volumes of a device, beside those with a violated SLO, whose leaving is
tried out; the best of them are priced."""

_CAUSES = {(True, True): Cause.SLO_RESTORED,
           (False, True): Cause.SLO_EASED,
           (True, False): Cause.FORECAST_AVOIDED,
           (False, False): Cause.FORECAST_REDUCED}
"""(Whether an SLO is met then, is violated as measured) → cause."""

_SCREENED = 250  # devices that are priced at once


@dataclasses.dataclass
class Made:
    """The moves made so far, and where they lead.

    :param easing: whether to make moves that keep no SLO but ease
    :ivar why: the reason of each
    """

    state: State
    quota: Quota
    easing: bool
    steps: list[outcomes.Step] = dataclasses.field(default_factory=list)
    why: list[str] = dataclasses.field(default_factory=list)

    def late(self) -> list[int]:
        """The devices with violated SLOs that moves may leave.

        The one first where most is seen beyond them.
        """
        excess = violations.excess_us(self.state)
        return [int(d) for d in np.argsort(-excess, kind='stable')
                if excess[d] > 0 and not self.quota.full(int(d))]

    def make(self, priced: _Priced) -> None:
        """Makes moves, each off and to devices of its own."""
        priced = priced[self.state.affordable(priced.moves.volume)]
        moves = priced.moves
        if not len(moves.volume):
            return
        devices = self.state.problem.device[self.state.home[moves.volume]]
        self.steps += zip(moves.volume.tolist(), moves.target.tolist())
        self.why += [_CAUSES[keeps, measured].of() for keeps, measured in zip(
            priced.keeps.tolist(), priced.measured.tolist())]
        self.state = self.state.after(moves.volume, moves.target)
        self.quota = self.quota.after(devices)


def steps(state: State, quota: Quota, easing: bool) -> Made:
    """Moves off devices with violated SLOs, until none is left."""
    made, before = Made(state, quota, easing), -1
    while len(made.steps) > before:
        before = len(made.steps)
        if quota.each:
            for group in range(len(state.problem.open)):
                rounds.drain(_LateDevices(made, group))
        else:
            _one_by_one(made)
    return made


@dataclasses.dataclass(frozen=True, eq=False)
class _Priced:
    """Moves, and what they do to SLOs.

    :param fine: bool[n], whether each may be made
    :param keeps: bool[n], whether it restores an SLO
    :param measured: bool[n], whether what it keeps or eases is measured to
        be broken
    :param less_us: µs[n] by which what is seen beyond SLOs falls
    """

    moves: outcomes.Outcomes
    fine: Bools
    keeps: Bools
    measured: Bools
    less_us: Floats

    @classmethod
    def of(cls, state: State, moves: outcomes.Outcomes,
           easing: bool) -> _Priced:
        touched = violations.Touched.by(state, moves)
        was, then = touched.excess_us
        keeps = touched.keeps & ~touched.breaks & (
            was - then > limits.LEAST_GAIN) & np.where(
                touched.restores, moves.left_us <= moves.before_us,
                moves.left_us <= moves.before_us
                * state.problem.thresholds.keeps[moves.volume])
        fine = keeps.copy()
        if easing:
            fine |= touched.eases(state, moves)
            fine[fine & ~keeps] = copying.pays(state, moves[fine & ~keeps])
        return cls(moves, fine, keeps, np.where(
            keeps, touched.restores, touched.mends), was - then)

    def best(self, state: State, of: Ints | None = None) -> _Priced:
        """The best move of each kind ``of`` that may be made, or of all.

        Of equals that of the smaller volume.
        """
        moves = self.moves
        of = np.zeros(len(moves.volume), np.intp) if of is None else of
        order = np.lexsort((
            moves.volume, moves.worse_us,
            state.problem.carried_gib[moves.volume], -self.less_us,
            ~self.keeps, ~self.fine, of))
        order = order[np.diff(of[order], prepend=-1) != 0]
        order = order[self.fine[order]]
        return self[order]

    def __getitem__(self, which: Ints | Bools) -> _Priced:
        return _Priced(*(getattr(self, field.name)[which]
                         for field in dataclasses.fields(self)))


def _one_by_one(made: Made) -> None:
    """The best move of a device, again and again, then the next device."""
    for device in made.late():
        while not made.quota.full(device):
            state = made.state
            able = np.flatnonzero(state.able)
            volumes = able[state.problem.device[state.home[able]] == device]
            best = _Priced.of(state, outcomes.every(
                state, volumes, outcomes.coolest(state)),
                              made.easing).best(state)
            if not len(best.moves.volume):
                break
            made.make(best)


class _LateDevices:
    """The :class:`.rounds.Aim` of SLOs, for one group of volumes.

    Devices whose volumes not even the coolest pools take do not ask.
    """

    anew = True
    enough = False

    def __init__(self, made: Made, group: int) -> None:
        self.made, self.group = made, group
        self.left: dict[int, list[int]] = {}
        late = made.late()
        self.rank(late)
        coolest = rounds.dealt_targets(self, [], 1)
        late = [device for device in late if self.left[device]]
        for begin in range(0, len(late), _SCREENED):
            some = late[begin:begin + _SCREENED]
            best = self._best(*rounds.priced(
                self.state, [*map(self.some, some)],
                np.repeat(coolest, len(some), 0)))
            sources = self.state.problem.device[
                self.state.home[best.moves.volume]]
            self.left.update({device: [] for device in some
                              if device not in sources})

    @property
    def state(self) -> State:
        return self.made.state

    def asking(self) -> list[int]:
        """The devices with violated SLOs, the most violated first."""
        return self.made.late()

    def some(self, device: int) -> list[int]:
        return self.left[device][:rounds.BEST]

    def rank(self, devices: list[int]) -> None:
        """Sorts volumes by what their leaving does for SLOs, a GiB."""
        if not devices:
            return
        state = self.state
        volumes, of = self._likely(devices)
        relief, fine = violations.relief(state, volumes)
        if self.made.easing:
            excess = violations.excess_us(state)[of]
            fine |= relief >= excess * (
                1 - state.problem.thresholds.keeps[volumes])
        order = np.lexsort((-relief / (
            rounds.GIB + state.problem.carried_gib[volumes]), of))
        order = order[fine[order]]
        self.left.update({device: [] for device in devices}
                         | rounds.by_device(of[order], volumes[order]))

    def _likely(self, devices: list[int]) -> tuple[Ints, Ints]:
        """Volumes of devices that may move, with their device.

        Those with a violated SLO, and of each device the :data:`LIKELY`
        that make up most of its Load, a GiB.
        """
        state, problem = self.made.state, self.made.state.problem
        able = np.flatnonzero(state.able & (problem.group == self.group))
        of = problem.device[state.home[able]]
        mine = np.isin(of, devices)
        able, of = able[mine], of[mine]
        total = state.loads[of]
        share = np.divide(problem.carried[able], total, np.zeros(total.shape),
                          where=total > 0).sum(axis=(1, 2))
        order = np.lexsort((-share / (
            rounds.GIB + problem.carried_gib[able]), of))
        able, of = able[order], of[order]
        first = np.searchsorted(of, of)
        likely = np.arange(len(of)) - first < LIKELY
        likely |= np.isin(able, problem.bonds.bundle[violations.broken(state)])
        return able[likely], of[likely]

    def targets(self, asking: list[int]) -> Bools:
        """Devices without violated SLOs."""
        keep = self.state.problem.predicted.copy()
        keep[asking] = False
        return keep

    def make(self, found: outcomes.Outcomes, rank: Ints) -> Collection[int]:
        """Makes the best move of each device."""
        best = self._best(found, rank)
        self.made.make(best)
        return set(best.moves.volume.tolist())

    def _best(self, found: outcomes.Outcomes, rank: Ints) -> _Priced:
        return _Priced.of(self.state, found, self.made.easing).best(
            self.state, rank)
