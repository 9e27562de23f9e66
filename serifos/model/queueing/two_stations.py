# SPDX-License-Identifier: Apache-2.0
"""Response time of two stations whose times grow linearly with the queue.

The result is that of :mod:`serifos.lab.calibrate.network` for two stations,
at a cost that grows with the clients and not with their square, and for many
networks at once. Standard library only: cinder-scheduler loads this module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

LARGEST = 1024
"""Clients up to which the network is solved; beyond, the last slope holds.
The queue that is longest has grown to nearly all clients by then."""

_AT_ONCE = 1024
"""Networks whose responses to all numbers of clients are in memory."""


def response_us(clients: float, a1: float, b1: float, a2: float = 0.0,
                b2: float = 0.0) -> float:
    """The exact response time of two stations of times a n + b, µs.

    The constants of such a network are the series of (1 - a1 z)^-(1 + b1/a1)
    (1 - a2 z)^-(1 + b2/a2), whose differential equation gives the response
    of n + 1 clients from that of n. Between whole numbers it is linear; no
    more than :data:`LARGEST` steps.
    """
    total, both = a1 + b1 + a2 + b2, a1 + a2
    if total <= 0:
        return 0.0
    pair, cross = a1 * a2, b1 * a2 + b2 * a1
    whole = int(min(clients, LARGEST))
    last = now = total
    for n in range(1, whole + 1):
        last, now = now, (
            total + both * n - (pair * (n + 1) + cross) * n / now)
    return last + (clients - whole) * (now - last)


def responses_us(clients: npt.NDArray[np.float64],
                 *times: npt.NDArray[np.float64]
                 ) -> npt.NDArray[np.float64]:
    """The same for many networks, float[m] each."""
    import numpy as np  # the scheduler, which has none, never calls this
    whole = np.minimum(clients, LARGEST).astype(np.intp)
    order = np.argsort(-whole, kind='stable')
    a1, b1, a2, b2 = (each[order] for each in times)
    total, both = a1 + b1 + a2 + b2, a1 + a2
    pair, cross = a1 * a2, b1 * a2 + b2 * a1
    some = total > 0
    total = np.where(some, total, 1.0)
    last, now = total.copy(), total.copy()
    depth = whole[order]
    for first in range(0, np.count_nonzero(depth), _AT_ONCE):
        its = slice(first, first + _AT_ONCE)
        n = np.arange(1, depth[first] + 1)[:, None]
        most = total[its] + both[its] * n
        rows = np.empty((len(n) + 2, most.shape[1]))
        rows[:2] = total[its]
        np.multiply(pair[its] * (n + 1) + cross[its], n, out=rows[2:])
        for before, row, fixed in zip(rows[1:], rows[2:], most):
            np.divide(row, before, out=row)
            np.subtract(fixed, row, out=row)
        every = np.arange(rows.shape[1])
        last[its], now[its] = (rows[depth[its] + i, every] for i in (0, 1))
    found = np.empty(len(whole))
    found[order] = np.where(
        some, last + (clients - whole)[order] * (now - last), 0.0)
    return found
