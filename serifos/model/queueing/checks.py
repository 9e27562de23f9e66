# SPDX-License-Identifier: Apache-2.0
"""Checks of what a model file says of a queueing network.

Standard library only: cinder-scheduler loads this module.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from serifos import errors
from serifos.facts import fields

MOST = 1e9
AGAIN = 'fit it again with serifos-model fit or calibrate.'


def mapping(doc: object, name: str,
            known: tuple[str, ...]) -> Mapping[str, Any]:
    """A part of the file, of known names only.

    :raises FormatError: where it is none, or has an unknown name
    """
    if not isinstance(doc, Mapping):
        raise errors.FormatError(
            f'A queueing model has no {name} that can be read; {AGAIN}')
    unknown = sorted(set(doc) - set(known))
    if unknown:
        raise errors.FormatError(
            f'A queueing model has no {unknown[0]} in its {name}; it may use '
            f'{", ".join(known)}.')
    return doc


def figure(name: str, value: object, most: float) -> None:
    """:raises FormatError: where it is no number from 0 to ``most``"""
    if not fields.is_number(value, 0, most):
        raise errors.FormatError(
            f'The {name} of a queueing model is {value}; it must be a number '
            f'from 0 to {most:g}: {AGAIN}')
