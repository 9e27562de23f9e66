# SPDX-License-Identifier: Apache-2.0
"""Sizes in GiB."""

from __future__ import annotations

GIB = 2 ** 30


def gib(size_bytes: float) -> str:
    """Such as '3.725 GiB'."""
    return f'{size_bytes / GIB:.4g} GiB'
