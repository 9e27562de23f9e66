# SPDX-License-Identifier: Apache-2.0
"""JSON from files, programs and servers: every number is finite.

Python's own reader takes NaN, turns 1e400 into infinity, keeps integers that
no float can hold and runs out of stack on deep nesting. Whoever reads outside
text reads it here, so that what follows may compute with any number in it.
"""

from __future__ import annotations

import json
import math
from typing import Any
from typing import NoReturn


def loads(text: str | bytes) -> Any:
    """What a JSON text says.

    :raises ValueError: with a clause that says why this is no JSON, or which
        number cannot be computed with
    """
    try:
        return json.loads(text, parse_constant=_refuse, parse_float=_number,
                          parse_int=_integer)
    except json.JSONDecodeError as exc:
        raise ValueError(
            f'it is not JSON ({exc.msg}, line {exc.lineno}, column '
            f'{exc.colno})') from None
    except UnicodeDecodeError:
        raise ValueError('it is not UTF-8 text') from None
    except RecursionError:
        raise ValueError('it is nested too deeply') from None


def _refuse(text: str) -> NoReturn:
    if len(text) > 20:
        text = f'{text[:12]}... of {len(text)} characters'
    raise ValueError(f'{text} is no finite number')


def _number(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _refuse(text)


def _integer(text: str) -> int:
    _number(text)
    return int(text)
