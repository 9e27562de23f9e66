# SPDX-License-Identifier: Apache-2.0
"""Volumes, and pools that do not fit their models, as words."""

from __future__ import annotations

from collections.abc import Iterable

from serifos.facts import cluster
from serifos.facts import names

_NAMED = 3


def volumes(number: int) -> str:
    """1 volume; 2 volumes."""
    return f'{number} volume' + 's' * (number != 1)


def unexplained(pools: Iterable[cluster.Pool]) -> str | None:
    """That pools do not fit their models, and what to do; None if all do.

    :param pools: all pools of the cluster
    """
    known = [pool for pool in pools if pool.model is not None]
    odd = [pool for pool in known if pool.unexplained is not None]
    if not odd:
        return None
    short = names.short(pool.name for pool in known)
    more = len(odd) - _NAMED
    return (f'{len(odd)} of {len(known)} pools '
            f'{"does not fit its" if len(odd) == 1 else "do not fit their"} '
            'model: '
            'rebuild or refine before you move anything ('
            + '; '.join(f'{short[pool.name]}: {pool.unexplained}'
                        for pool in odd[:_NAMED])
            + (f'; and {more} more' if more > 0 else '') + ').')
