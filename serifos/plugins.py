# SPDX-License-Identifier: Apache-2.0
"""Kinds of model, planners and telemetry sources, found by entry points.

Kinds of serifos are entry points, too; its own planners and sources are named
in :mod:`.balancer.planning` and :mod:`.cmd.balancer.adapters`. An entry point
is loaded when its name is chosen, so that a broken one concerns nobody else.
Standard library only: cinder-scheduler loads this module.
"""

from __future__ import annotations

from collections.abc import Mapping
import functools
from importlib import metadata
from typing import Any

from serifos import errors

KINDS = 'serifos.kinds'
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


def load(group: str, name: str,
         error: type[errors.InputError] = errors.InputError) -> Any:
    """What the entry point names.

    :raises InputError: where it is not installed, or is broken; of the
        class that is given
    """
    point = installed(group).get(name)
    if point is None:
        raise error(
            f'{name} is not installed: no package has it as an entry point '
            f'of {group}.')
    try:
        return point.load()
    except Exception as exc:  # whatever a plug-in does when it is imported
        raise error(
            f'{name} of {group} cannot be loaded from {point.value}: '
            f'{errors.one_line(repr(exc))}; install its package again, or '
            'remove it.') from exc
