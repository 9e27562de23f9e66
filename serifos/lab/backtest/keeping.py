# SPDX-License-Identifier: Apache-2.0
"""Keep a history as ``serifos-balancer run`` does."""

from __future__ import annotations

import os
import pathlib

import numpy as np

from serifos.database import connection
from serifos.database.history_store import Store
from serifos.database.history_store import TIERS
from serifos import errors
from serifos.facts.history import Series
from serifos.lab.backtest.rates import Rates

_DAY_S = 86400


def keep(series: Rates, directory: str | os.PathLike[str],
         latency_us: float) -> pathlib.Path:
    """Writes the history of a new ``state_dir``.

    :param latency_us: of all requests; a history of what volumes ask for
        does not say what a device makes of it
    :returns: the file
    :raises InputError: where it is there already, or cannot be written
    """
    path = pathlib.Path(directory).absolute() / 'history.sqlite'
    if path.exists():
        raise errors.InputError(
            f'{path} is a history already; give another directory.')
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise errors.InputError(
            f'The directory {directory} cannot be made: '
            f'{exc.strerror or exc}.') from None
    store = Store(connection.Database(
        f'sqlite:///{path}', {}, connection.HISTORY))
    end = series.begin + series.slots * series.step_s
    for begin in np.arange(series.begin, end, _DAY_S):
        store.add(_seen(series.between(begin, begin + _DAY_S), latency_us,
                        TIERS[0].step_s), store.until())
    return path


def _seen(series: Rates, latency_us: float, step_s: int) -> Series:
    """What was seen in slots of a minute; all of those that are known."""
    end = series.begin + series.slots * series.step_s
    found = Series.empty(series.volumes, series.begin, end, step_s)
    slot = ((np.array(found.begins) - series.begin) // series.step_s).astype(
        np.intp)
    reads, writes, kib = series.values[:, slot, :3].transpose(2, 1, 0)
    known, requests = ~np.isnan(reads), np.where(reads + writes > 0,
                                                 reads + writes, 1.0)
    found.sums[:] = step_s * np.where(known, [
        np.ones_like(reads), reads, writes, 1024 * kib * reads / requests,
        1024 * kib * writes / requests, reads * latency_us / 1e6,
        writes * latency_us / 1e6], 0.0)
    return found
