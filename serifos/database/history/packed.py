# SPDX-License-Identifier: Apache-2.0
"""What up to 1,024 volumes did in one slot of time, as bytes.

First the volumes' places in their part, 16 bits each, then one figure of all
of them after another, 32 bits each: 30 bytes a volume. One that was not seen
takes none.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from serifos import errors
from serifos.facts import history

PART = 1024
"""Volumes of a part, by their numbers."""

_PLACE, _FIGURE = np.dtype('<u2'), np.dtype('<f4')
BYTES = _PLACE.itemsize + len(history.FIGURES) * _FIGURE.itemsize
"""Of a volume that was seen in a slot."""

Places = npt.NDArray[np.int64]


def pack(places: Places, figures: history.Array) -> bytes:
    """Figures (7, n) of n volumes, those that were seen."""
    seen = figures[0] > 0
    return (places[seen].astype(_PLACE).tobytes()
            + figures[:, seen].astype(_FIGURE).tobytes())


def unpack(data: object) -> tuple[Places, history.Array]:
    """Places (n) and figures (7, n).

    :raises FormatError: where it is not what we wrote
    """
    if not isinstance(data, (bytes, memoryview)):
        raise errors.FormatError(
            'A slot of the history is no bytes; delete that row.')
    count, rest = divmod(len(data), BYTES)
    split = count * _PLACE.itemsize
    places = np.frombuffer(data[:split], _PLACE).astype(np.int64)
    if rest or (places >= PART).any():
        raise errors.FormatError(
            f'A slot of the history has {len(data)} bytes that cannot be '
            'read; delete that row.')
    return places, np.frombuffer(data[split:], _FIGURE).reshape(
        len(history.FIGURES), count)


def add(data: object, places: Places, figures: history.Array) -> bytes:
    """The packed values with more of the same slot.

    :param data: None for nothing; what cannot be unpacked is lost
    """
    if data is None:
        return pack(places, figures)
    both = np.zeros((len(history.FIGURES), PART), np.float32)
    try:
        earlier, known = unpack(data)
    except errors.FormatError:
        return pack(places, figures)
    both[:, earlier] = known
    both[:, places] += figures
    return pack(np.arange(PART), both)
