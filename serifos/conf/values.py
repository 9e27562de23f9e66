# SPDX-License-Identifier: Apache-2.0
"""Is every option's value one that can be worked with?

oslo.config takes a number that is left empty for None, whatever its bounds
are, lets NaN pass them, and converts a value when somebody asks for it.
Here all are asked for, before anything else is done.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import math
import re

from oslo_config import cfg


EMPTY = 'is left empty; give it a value, or take the line out'


def faults(conf: cfg.ConfigOpts, default: cfg.ConfigOpts) -> Iterator[str]:
    """What is wrong, a clause each that names the option.

    :param default: the same options without a file
    """
    for group, name in _names(default):
        there, usual = (each if group == 'DEFAULT' else each[group]
                        for each in (conf, default))
        try:
            why = fault(there[name], usual[name])
        except (cfg.Error, ValueError) as exc:
            why = clause(exc)
        if why is not None:
            yield f'[{group}] {name} {why}'


def _names(conf: cfg.ConfigOpts) -> Iterator[tuple[str, str]]:
    """(group, option) of all that are registered."""
    for name in conf:
        if isinstance(conf[name], cfg.ConfigOpts.GroupAttr):
            yield from ((name, option) for option in conf[name])
        else:
            yield 'DEFAULT', name


def fault(value: object, default: object) -> str | None:
    """Why a value cannot be worked with, None where it can.

    An option may be left empty where that is its default.
    """
    said = value.strip() if isinstance(value, str) else value
    if said in (None, '') and default not in (None, ''):
        return EMPTY
    if isinstance(value, float) and not math.isfinite(value):
        return f'is {value}, which is no finite number'
    if isinstance(value, list) and '' in value:
        return 'has an empty item between two commas'
    if isinstance(value, Mapping) and ('' in value or '' in value.values()):
        return 'has a name without a value'
    return None


def clause(exc: Exception) -> str:
    """What oslo.config says of a value, without its own objects."""
    said = str(exc)
    where = re.search(r"detail='([^']*)'", said)
    why = said.partition('is not valid: ')[2] or said
    return (f'of {where[1]} ' if where else '') + f'cannot be used: {why}'
