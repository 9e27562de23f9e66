# SPDX-License-Identifier: Apache-2.0
"""What may a model be called? By the stem of its file, ``STEM.json``.

Pools name their models by a capability, which anybody who configures a
backend writes; whoever makes a path of one asks here first.
"""

from __future__ import annotations

MOST_BYTES = 250
"""What a file system takes for a name, less ``.json``."""


def fault(stem: object) -> str | None:
    """Why this can be no model's name, a clause; None where it can."""
    if not isinstance(stem, str):
        return 'is no text'
    if not stem:
        return 'is empty'
    if stem.startswith('.'):
        return 'begins with a dot'
    if '/' in stem:
        return 'has a / in it'
    if not stem.isprintable():
        return 'has characters that cannot be printed'
    size = len(stem.encode())
    if size > MOST_BYTES:
        return f'is of {size} bytes, {MOST_BYTES} is the most'
    return None
