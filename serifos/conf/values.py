# SPDX-License-Identifier: Apache-2.0
"""Register options, and check their values.

oslo.config takes a number that is left empty for None, whatever its bounds
are, lets NaN pass them, and converts a value only when it is read. So all
are read here, before anything else is done.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import math
import re

from oslo_config import cfg

_SAID = (
    (r"invalid literal for int\(\) with base 10: (.*)",
     r'\1 is no whole number'),
    (r'could not convert string to float: (.*)', r'\1 is no number'),
    (r"Unexpected boolean value (.*)", r'\1 is neither true nor false'),
    (r'Should be (less|greater) than or equal to (.*)', lambda found: (
        f'at {"most" if found[1] == "less" else "least"} {found[2]} is '
        'allowed')),
    (r'Valid values are \[(.*)\], but found (.*)',
     r'\2 is none of \1'))
"""Errors of oslo.config and Python about a value → plainer words."""

EMPTY = 'is left empty; give it a value, or take the line out'


def register(conf: cfg.ConfigOpts, group: cfg.OptGroup,
             opts: Sequence[cfg.Opt]) -> None:
    # With a group of its own: copies of one share what is registered.
    conf.register_group(cfg.OptGroup(group.name, group.title))
    conf.register_opts(opts, group=group.name)


def faults(conf: cfg.ConfigOpts, default: cfg.ConfigOpts) -> Iterator[str]:
    """A clause for each value that cannot be used, naming the option.

    :param default: the same options without a file
    """
    for group, name in _names(default):
        there, usual = (each if group == 'DEFAULT' else each[group]
                        for each in (conf, default))
        why = unusable(there, name, usual[name])
        if why is not None:
            yield f'[{group}] {name} {why}'


def _names(conf: cfg.ConfigOpts) -> Iterator[tuple[str, str]]:
    """(group, option) of all that are registered."""
    for name in conf:
        if isinstance(conf[name], cfg.ConfigOpts.GroupAttr):
            yield from ((name, option) for option in conf[name])
        else:
            yield 'DEFAULT', name


def unusable(group: Mapping[str, object], name: str,
             default: object) -> str | None:
    """The reason why an option's value cannot be used; None where it can."""
    try:
        return fault(group[name], default)
    except RecursionError:
        return 'refers to itself'
    except cfg.NoSuchOptError as exc:
        # oslo.config hides the reason for an option of [DEFAULT].
        return (clause(exc) if exc.opt_name != name else
                'refers to itself, or to an option that does not exist')
    except (cfg.Error, ValueError) as exc:
        return clause(exc)


def fault(value: object, default: object) -> str | None:
    """Why a value cannot be used, None where it can.

    An option may be left empty where that is its default.
    """
    said = value.strip() if isinstance(value, str) else value
    if said in (None, '') and default not in (None, ''):
        return EMPTY
    if isinstance(value, str) and '\0' in value:
        return 'has a NUL byte'
    if isinstance(value, float) and not math.isfinite(value):
        return f'is {value}, which is not a finite number'
    if isinstance(value, list) and '' in value:
        return 'has an empty item between two commas'
    if isinstance(value, Mapping) and ('' in value or '' in value.values()):
        return 'has a name without a value'
    return None


def clause(exc: Exception) -> str:
    """oslo.config's message on a value, without its reprs of objects."""
    said = str(exc)
    where = re.search(r"detail='([^']*)'", said)
    why = said.partition('is not valid: ')[2] or said
    for theirs, ours in _SAID:
        why = re.sub(theirs, ours, why)
    return (f'of {where[1]} ' if where else '') + f'cannot be used: {why}'
