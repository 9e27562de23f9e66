# SPDX-License-Identifier: Apache-2.0
"""Moves and observations as tables of text."""

from __future__ import annotations

import collections
from collections.abc import Iterator
from collections.abc import Sequence

from serifos.facts import cluster as cl
from serifos.plan import plan as pl

_SHOWN = 20


def moves(steps: Sequence[pl.Move]) -> str:
    """Moves alone."""
    return '\n'.join(_steps(steps)) + '\n'


def observation(cluster: cl.Cluster) -> str:
    """Each pool, and the busiest volumes."""
    return '\n'.join(_observed(cluster)) + '\n'


def _observed(cluster: cl.Cluster) -> Iterator[str]:
    homes = collections.Counter(v.pool for v in cluster.volumes)
    yield from _columns([
        ('pool', 'state', 'model', 'volumes', 'GiB free'),
        *((pool.name, pool.state, pool.model or '-',
           str(homes[pool.name]), f'{pool.free_gib:.4g}')
          for pool in cluster.pools)], '<<<>>')
    seen = sorted(((v, v.workload) for v in cluster.volumes if v.workload
                   and v.workload.is_active()),
                  key=lambda each: -each[1].outstanding)
    idle = sum(v.workload is not None for v in cluster.volumes) - len(seen)
    unknown = len(cluster.volumes) - len(seen) - idle
    yield ''
    qemu = any(volume.qemu_latency_us is not None for volume, _ in seen)
    yield from _columns([
        ('volume', 'pool', 'write %', 'KiB', 'IOPS', 'ms', 'outstanding',
         *['QEMU, ms'] * qemu),
        *((volume.id, volume.pool, f'{w.write_pct:.3g}',
           f'{w.block_kib:.4g}', f'{w.iops or 0:.4g}',
           f'{(w.latency_us or 0) / 1e3:.3g}', f'{w.outstanding:.3g}',
           *[_ms(volume.qemu_latency_us)
             + ', at its cap' * volume.at_cap] * qemu)
          for volume, w in seen[:_SHOWN])], '<<>>>>>>')
    if len(seen) > _SHOWN:
        yield f'and {len(seen) - _SHOWN} more, all of them in cluster.json'
    yield f'{idle} more are idle, {unknown} without telemetry.'


def _steps(steps: Sequence[pl.Move]) -> Iterator[str]:
    qemu = any(move.qemu_us is not None for move in steps)
    yield from _columns([
        ('volume', 'from', 'to', 'GiB', 'min', *['now, QEMU, ms'] * qemu,
         'source, ms', 'target, ms', 'why'),
        *((move.volume, move.source, move.target, f'{move.size_gib:g}',
           '-' if move.copy_s is None else f'{move.copy_s / 60:.2g}',
           *[f'{_ms(move.volume_us)}, {_ms(move.qemu_us)}'] * qemu,
           _step(move.source_before_us, move.source_during_us,
                 move.source_after_us),
           _step(move.target_before_us, move.target_during_us,
                 move.target_after_us), move.reason)
          for move in steps)], '<<<>>' + '>' * qemu + '>><')


def _step(before_us: float | None, during_us: float | None,
          after_us: float | None) -> str:
    """Before, while the volume is copied where that is known, and after."""
    if before_us is None or after_us is None:
        return '-'
    during = '' if during_us is None else f'({during_us / 1000:.3g}) -> '
    return f'{before_us / 1000:.3g} -> {during}{after_us / 1000:.3g}'


def _ms(latency_us: float | None) -> str:
    return '-' if latency_us is None else f'{latency_us / 1e3:.3g}'


def _columns(rows: Sequence[Sequence[str]],
             align: str = '<<<<<<<<') -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        yield '  '.join(
            f'{cell:{side}{width}}' for cell, side, width
            in zip(row, align, widths)).rstrip()


def volumes(number: int) -> str:
    """1 volume; 2 volumes."""
    return f'{number} volume' + 's' * (number != 1)
