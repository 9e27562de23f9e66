# SPDX-License-Identifier: Apache-2.0
"""Numbers of volumes as words."""

from __future__ import annotations


def volumes(number: int) -> str:
    """1 volume; 2 volumes."""
    return f'{number} volume' + 's' * (number != 1)
