# SPDX-License-Identifier: Apache-2.0
"""Reading of a hybrid model's ``parameters`` from its file.

Standard library only: cinder-scheduler loads this module.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from serifos import errors
from serifos.facts import fields
from serifos.model.hybrid import residual
from serifos.model.hybrid import trend as tr

# Bounded, so that a prediction for any finite Load is finite, and so is its
# square: it cannot fail later, in the scheduler.
_MOST, _LEAST, _SHARPEST = 1e9, 1e-6, 1e4


def read(parameters: Mapping[str, Any]) -> tuple[
        Mapping[str, float], tuple[tuple[float, ...], ...],
        residual.Residual]:
    """The trend, the covariance of its coefficients, the residual.

    :raises FormatError: where something is missing or not a number
    """
    trend = read_trend(parameters)
    covariance = _rows(parameters, 'covariance', len(tr.TREND))
    its = parameters.get('residual')
    if not isinstance(its, Mapping):
        raise _refused('residual', 'is missing')
    length_scales, least, greatest = (
        _floats(its, name, tr.COORDINATES)
        for name in ('lengths', 'least', 'greatest'))
    if min(length_scales) < _LEAST:
        raise _refused('lengths', f'must be {_LEAST:g} or more')
    points = _rows(its, 'points', len(tr.COORDINATES))
    return trend, covariance, residual.Residual(
        *(_number(its, name) for name in ('height', 'noise')),
        length_scales, least, greatest, points, *_rows(
            {'weights': [its.get('weights')]}, 'weights', len(points)),
        _rows(its, 'certainty', len(points)))


def read_trend(parameters: Mapping[str, Any]) -> dict[str, float]:
    """The trend alone.

    :raises FormatError: where a coefficient is missing or absurd
    """
    trend = _floats(parameters, 'trend', tr.TREND)
    if min(trend) < 0 or not 1 <= trend[-1] <= _SHARPEST:
        raise _refused('trend', 'has a negative coefficient or a sharpness '
                       f'that is not from 1 to {_SHARPEST:g}')
    if trend[tr.TREND.index('half_q')] < _LEAST:
        raise _refused('half_q', f'must be {_LEAST:g} or more')
    return dict(zip(tr.TREND, trend))


def _floats(doc: Mapping[str, Any], name: str,
            keys: Sequence[str]) -> tuple[float, ...]:
    row = doc.get(name)
    if not isinstance(row, Mapping) or set(row) != set(keys):
        raise _refused(name, f'must name {", ".join(keys)}')
    return tuple(_number(row, key) for key in keys)


def _rows(doc: Mapping[str, Any], name: str,
          width: int) -> tuple[tuple[float, ...], ...]:
    rows = doc.get(name)
    if not isinstance(rows, list) or not all(
            isinstance(row, list) and len(row) == width for row in rows):
        raise _refused(name, f'must be rows of {width} numbers')
    return tuple(tuple(_number(dict(enumerate(row)), i)
                       for i in range(width)) for row in rows)


def _number(doc: Mapping[Any, Any], name: Any) -> float:
    value = doc.get(name)
    if not fields.is_number(value, -_MOST, _MOST):
        raise _refused(str(name), f'is not a number up to {_MOST:g}')
    return float(value)


def _refused(name: str, why: str) -> errors.FormatError:
    return errors.FormatError(
        f'The {name} of a hybrid model {why}; fit it again with '
        'serifos-model fit.')
