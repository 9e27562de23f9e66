# SPDX-License-Identifier: Apache-2.0
"""The plan of a sequence of moves: figures, reasons and refusals."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import math

from serifos.facts import cluster as cl
from serifos.plan import copying
from serifos.plan import limits as lm
from serifos.plan import outcomes
from serifos.plan import plan as pl
from serifos.plan import promises
from serifos.plan import score
from serifos.plan import state as st


def plan(planner: str, first: st.State, steps: Iterable[tuple[int, int]],
         truncated: bool) -> pl.Plan:
    """The plan that these steps make, (volume, target) each."""
    moves, last = [], first
    for volume, target in steps:
        after = last.moved(volume, target)
        moves.append(move(last, after, volume, _reason(last, after)))
        last = after
    return figures(planner, first, last, moves, _refused(last, moves),
                   truncated)


def figures(planner: str, first: st.State, last: st.State,
            moves: Sequence[pl.Move], refused: Iterable[pl.Refusal],
            truncated: bool) -> pl.Plan:
    """A plan of these moves, which lead from one state to the other."""
    pools = first.problem.cluster.pools
    shown = [(pool.name, float(was), float(then)) for pool, was, then
             in zip(pools, first.latency_us, last.latency_us)
             if not math.isnan(was)]
    before = {name: was for name, was, _ in shown}
    after = {name: then for name, _, then in shown}
    was, then = first.score, last.score
    return pl.Plan(
        planner, tuple(moves),
        tuple(sorted(refused, key=lambda refusal: refusal.volume)),
        truncated, {name: pl.Change(*pair) for name, *pair in shown},
        pl.Change(was.max_us, then.max_us),
        pl.Change(was.mean_us, then.mean_us),
        pl.Change(was.variance_us2, then.variance_us2),
        pl.Change(score.slo_misses(first.cluster(), before),
                  score.slo_misses(last.cluster(), after)))


def move(state: st.State, after: st.State, volume: int,
         reason: str) -> pl.Move:
    """The move of one volume that leads from one state to the next."""
    moved, pools = state.problem.volumes[volume], state.problem.cluster.pools
    pair = state.home[volume], after.home[volume]
    return pl.Move(
        moved.id, *(pools[i].name for i in pair), moved.size_gib,
        *(_known(s.latency_us[i]) for i in pair for s in (state, after)),
        reason, float(state.problem.copy_s[volume]), *(
            _known(us[i]) for us, i in zip(
                state.copied_us[state.problem.attached[volume]], pair)),
        *_measured(moved))


def _measured(volume: cl.Volume) -> tuple[float | None, float | None]:
    """Its latency at the device and as QEMU sees it, where both are known."""
    seen = volume.workload
    return (None, None) if volume.qemu_latency_us is None else (
        seen and seen.latency_us, volume.qemu_latency_us)


def _known(latency_us: float) -> float | None:
    return None if math.isnan(latency_us) else float(latency_us)


def _reason(state: st.State, after: st.State) -> str:
    was, then = state.score, after.score
    if then.max_us <= was.max_us * state.problem.limits.keeps:
        return (f'worst latency {was.max_us / 1000:.4g} -> '
                f'{then.max_us / 1000:.4g} ms')
    fall = 1 - then.variance_us2 / was.variance_us2
    return f'variance over the pools -{100 * fall:.3g} %'


def _refused(state: st.State,
             moves: Sequence[pl.Move]) -> Iterator[pl.Refusal]:
    problem = state.problem
    moved = {move.volume for move in moves}
    for i, reason in problem.refusals.items():
        if reason:
            yield pl.Refusal(problem.volumes[i].id, reason)
    for batch in outcomes.batches(problem, problem.candidates):
        target = outcomes.best(state, batch, outcomes.elsewhere(state, batch),
                               outcomes.prices(state, batch))
        wants = target >= 0
        then = outcomes.outcomes(state, batch[wants], target[wants])
        for i, to, worst, variance in zip(
                then.volume, then.target, then.worst_us, then.variance_us2):
            if problem.volumes[i].id not in moved:
                yield pl.Refusal(problem.volumes[i].id, _why(
                    state, i, to, len(moves), score.Score(worst, 0, variance)))


def _why(state: st.State, volume: int, target: int, moves: int,
         then: score.Score) -> str:
    """Why a volume does not move to its target of least latency."""
    problem = state.problem
    limits, pools = problem.limits, problem.cluster.pools
    if not limits.accepts(state.score, then):
        return limits.shortfall(state.score, then)
    size, pool = problem.size_gib[volume], pools[target]
    reason = lm.target_refusal(
        pools[state.home[volume]].zone,
        problem.volumes[volume].required_backend_name,
        problem.volumes[volume].volume_type, pool)
    if reason is not None:
        return reason
    if size > state.room[target]:
        reason = lm.no_room(pool, state.room[target], size)
        if size <= state.free[target]:
            reason += ', until moves of this plan free more'
        return reason
    broken = promises.broken(state, volume, target)
    if broken is not None:
        whose = ('it' if broken == volume else
                 f'volume {problem.volumes[broken].id} there')
        return (f'on {pool.name} {whose} would see more than the '
                f'{problem.promise_us[broken]:.6g} µs that its type promises')
    why = copying.outweighs(state, volume, target)
    if why is not None:
        return why
    if moves == limits.max_moves:
        return f'max_moves {moves} is reached'
    return limits.shortfall(state.score, then)
