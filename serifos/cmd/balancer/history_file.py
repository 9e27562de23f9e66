# SPDX-License-Identifier: Apache-2.0
"""What all volumes did, written to a file for ``serifos-sim backtest``."""

from __future__ import annotations

from collections.abc import Mapping
import time

from serifos.balancer import join
from serifos import errors
from serifos.facts.history import History
from serifos.facts.inventory import Inventory
from serifos.files import atomic
from serifos.files import history_csv

_AT_ONCE = 1_000_000
"""Slots of volumes that are read at once."""


def write(path: str, past: History, inventory: Inventory,
          moved_at: Mapping[str, float], seconds: float,
          step_s: int) -> str:
    """Writes the last seconds in whole slots, without copies of migrations.

    :returns: what the file has, a sentence
    :raises InputError: where nothing is known, or it cannot be written
    :raises CloudError: where the past cannot be asked for
    """
    atomic.refuse_unwritable(path)
    places = [place for place in join.places(inventory, moved_at)
              if inventory.record_by_id[place.volume].target_of is None]
    sizes = {record.id: record.size_gib for record in inventory.records}
    end = time.time() // step_s * step_s
    each = max(1, int(_AT_ONCE * step_s / seconds))
    text, seen, known, slots = [history_csv.header()], 0, 0, 0
    for first in range(0, len(places), each):
        found = past.read(
            places[first:first + each], end - seconds, end, step_s)
        text += history_csv.lines(found, sizes)
        seen += int(found.seconds.any(axis=0).sum())
        known += int((found.seconds > 0).sum())
        slots = found.count
    if not seen:
        raise errors.InputError(
            'Nothing is known of any volume in that time, so that '
            f'{path} is not written.')
    history_csv.write(path, ''.join(text))
    return (f'{path} has {seen:,} of {len(places):,} volumes; {known:,} of '
            f'their {seen * slots:,} slots are known.')
