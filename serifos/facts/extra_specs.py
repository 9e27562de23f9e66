# SPDX-License-Identifier: Apache-2.0
"""Match extra specs and capabilities as CapabilitiesFilter does.

Cinder runs that filter on every migration. A key without a scope, or with
the scope ``capabilities:``, is a requirement; other scopes are ignored. The
operators are those of Cinder's ``extra_specs_ops``.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import operator
from typing import Any

_OPERATORS: Mapping[str, Callable[[Any, str], bool]] = {
    '=': lambda found, asked: float(found) >= float(asked),
    '==': lambda found, asked: float(found) == float(asked),
    '!=': lambda found, asked: float(found) != float(asked),
    '>=': lambda found, asked: float(found) >= float(asked),
    '<=': lambda found, asked: float(found) <= float(asked),
    's==': operator.eq, 's!=': operator.ne, 's<': operator.lt,
    's<=': operator.le, 's>': operator.gt, 's>=': operator.ge,
    '<in>': lambda found, asked: asked in found,
    '<is>': lambda found, asked: _true(found) == _true(asked)}
_TRUE = {'1', 't', 'true', 'on', 'y', 'yes'}


def unmet(specs: Mapping[str, str],
          capabilities: Mapping[str, Any]) -> str | None:
    """The first extra spec that these capabilities do not meet, or None."""
    for key, required in sorted(specs.items()):
        path = key.split(':')
        if path[0] == 'capabilities':
            del path[0]
        elif len(path) > 1:
            continue
        if not _offered(path, required, capabilities):
            return f'{key}={required}'
    return None


def _offered(path: Sequence[str], required: str, found: Any) -> bool:
    for name in path:
        if not isinstance(found, Mapping) or name not in found:
            return False
        found = found[name]
    return any(map(_test(required),
                   found if isinstance(found, list) else [found]))


def meets(found: object, required: str) -> bool:
    """Whether a capability's value meets an extra spec."""
    return _test(required)(found)


def _test(required: str) -> Callable[[object], bool]:
    """The test of a value, with the requirement parsed once."""
    op, *asked = required.split() or ['']
    if op == '<or>':
        choices = frozenset(asked[::2])
        return lambda found: isinstance(found, str) and found in choices
    if op not in _OPERATORS:
        return lambda found: found == required

    def test(found: object) -> bool:
        try:
            return bool(asked) and _OPERATORS[op](found, asked[0])
        except (ArithmeticError, RecursionError, TypeError, ValueError):
            return False
    return test


def _true(value: object) -> bool:
    return str(value).strip().lower() in _TRUE
