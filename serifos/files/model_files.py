# SPDX-License-Identifier: Apache-2.0
"""Read the latency models of a directory.

A file that cannot be used concerns only the pools that name it: they are
pools without a model.
"""

from __future__ import annotations

from collections.abc import Iterable
import os
import pathlib

from serifos import errors
from serifos.facts import fields
from serifos.facts import names
from serifos.files import documents
from serifos.model.model import Model

Directory = str | os.PathLike[str]

BROKEN = (ArithmeticError, LookupError, RecursionError, TypeError,
          ValueError)
"""What the reading of a file may raise that a program wrote wrong."""


def stems(directory: Directory) -> frozenset[str]:
    """The stems of the files there; none where there is no directory."""
    try:
        found = os.listdir(directory)
    except OSError:
        return frozenset()
    return frozenset(
        stem for stem, ending in map(os.path.splitext, found)
        if ending == '.json' and names.model_fault(stem) is None)


def read(directory: Directory, stem: str) -> Model:
    """The model of latency with this name.

    :raises InputError: where there is none; the sentence names the file
    """
    why = names.model_fault(stem)
    if why is not None:
        raise errors.InputError(
            f'{fields.shown(stem)} cannot be a model of {directory}: its name '
            f'{why}.')
    path = pathlib.Path(directory, f'{stem}.json')
    try:
        model = documents.read_model(path)
    except BROKEN as exc:
        raise errors.FormatError(f'{path} cannot be used: {exc!r}.') from None
    if not model.predicts.endswith('_us'):
        raise errors.InputError(
            f'{path} predicts {model.predicts}, which is not a latency in µs.')
    return model


def readable(directory: Directory, wanted: Iterable[str]
             ) -> tuple[dict[str, Model], dict[str, str]]:
    """The models with these names, and why not the others, each by name."""
    models, broken = {}, {}
    for stem in sorted(wanted):
        try:
            models[stem] = read(directory, stem)
        except errors.SerifosError as exc:
            broken[stem] = str(exc)
    return models, broken
