# SPDX-License-Identifier: Apache-2.0
"""Planners and telemetry sources of other packages, by entry points.

An entry point is loaded when its name is chosen, so that a broken one
concerns nobody else.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import functools
from importlib import metadata
from typing import Any

from serifos import errors

PLANNERS = 'serifos.planners'
TELEMETRY = 'serifos.telemetry'


@functools.cache
def installed(group: str) -> Mapping[str, metadata.EntryPoint]:
    """Name → entry point; the environment is read once."""
    return {point.name: point
            for point in metadata.entry_points(group=group)}


def choices(ours: Mapping[str, str], group: str) -> list[tuple[str, str]]:
    """The choices of an option: (name, help) of ours, then of the others."""
    return [*ours.items(), *((name, point.value) for name, point in sorted(
        installed(group).items()) if name not in ours)]


def load(group: str, name: str) -> Callable[..., Any]:
    """:raises InputError: where it is not installed, or is broken"""
    point = installed(group).get(name)
    if point is None:
        raise errors.InputError(
            f'{name} is not installed: no package has it as an entry point '
            f'of {group}.')
    try:
        return point.load()
    except Exception as exc:  # whatever a plug-in does when it is imported
        raise errors.InputError(
            f'{name} cannot be loaded from {point.value}: '
            f'{errors.one_line(repr(exc))}; install its package again, or '
            'remove it.') from exc
