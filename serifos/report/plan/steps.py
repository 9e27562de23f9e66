# SPDX-License-Identifier: Apache-2.0
"""The moves of a stored plan as a table, by nothing but the plan."""

from __future__ import annotations

from collections.abc import Sequence

from serifos.plan.plan import Move
from serifos.report.plan import wording
from serifos.report import table


def text(steps: Sequence[Move]) -> str:
    """Moves only."""
    qemu = any(move.qemu_us is not None for move in steps)
    return table.as_text(table.Table(
        ('volume', 'from', 'to', 'GiB', 'min', *['now, QEMU, ms'] * qemu,
         'source, ms', 'target, ms', 'why'),
        [(move.volume, move.source, move.target, float(move.size_gib),
          None if move.copy_s is None else move.copy_s / 60,
          *[f'{wording.ms(move.volume_us)}, {wording.ms(move.qemu_us)}']
          * qemu,
          _step(move.source_before_us, move.source_during_us,
                move.source_after_us),
          _step(move.target_before_us, move.target_during_us,
                move.target_after_us), move.reason)
         for move in steps],
        'Moves; ms: before, (while it is copied), after.'))


def _step(before_us: float | None, during_us: float | None,
          after_us: float | None) -> str:
    """Before, while the volume is copied where that is known, and after."""
    during = '' if during_us is None else f' → ({wording.ms(during_us)})'
    return f'{wording.ms(before_us)}{during} → {wording.ms(after_us)}'
