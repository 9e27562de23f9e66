# SPDX-License-Identifier: Apache-2.0
"""The journal of a search: settings that were evaluated, and their RMSE.

``STEM.tune.jsonl``: a header with the facts of the runs, then one line for
each evaluated point. A search that was stopped goes on from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import math
import os
import pathlib
from typing import Any

from serifos import errors
from serifos.files import atomic
from serifos.files import jsonl

TUNE_SCHEMA = 'serifos-tune/1'

_REMEDY = 'delete the file to search anew'

_SAID = {'method': 'method of fitting'}

_Key = tuple[str, str, tuple[tuple[str, float], ...]]


class SearchJournal:
    """The evaluated points of one dataset; made by :func:`opened`."""

    def __init__(self, path: pathlib.Path, known: dict[_Key, float]) -> None:
        self._path = path
        self._known = known

    def has(self, kind: str, predicts: str,
            settings: Mapping[str, float]) -> bool:
        return _key(kind, predicts, settings) in self._known

    def rmse(self, kind: str, predicts: str,
             settings: Mapping[str, float]) -> float:
        """The RMSE of settings that were evaluated; NaN where a fit failed.

        :raises KeyError: where they were not evaluated
        """
        return self._known[_key(kind, predicts, settings)]

    def add(self, kind: str, predicts: str, settings: Mapping[str, float],
            rmse: float) -> None:
        """Adds an evaluated point.

        :raises InputError: where it cannot be written
        """
        self._known[_key(kind, predicts, settings)] = rmse
        jsonl.append(self._path, {
            'kind': kind, 'predicts': predicts, 'settings': dict(settings),
            'rmse': rmse if math.isfinite(rmse) else None})


@contextlib.contextmanager
def opened(path: str | os.PathLike[str],
           facts: Mapping[str, Any]) -> Iterator[SearchJournal]:
    """The journal, created where it does not exist, and locked.

    :param facts: common to all points: the dataset's sha256, the seed and
        number of the folds, the methods of fitting, ...
    :raises InputError: where it has other facts, is not a journal,
        or cannot be written
    """
    path = pathlib.Path(path)
    header = {'schema': TUNE_SCHEMA, **facts}
    with jsonl.resumed(path, header, 'search'):
        lines = jsonl.parse(atomic.read_text(path, 'search'), path, _REMEDY)
        _, first = next(lines, ('', {}))
        _refuse_another(path, first, header)
        yield SearchJournal(path, dict(_point(*line) for line in lines))


def _refuse_another(path: pathlib.Path, was: Mapping[str, Any],
                    header: Mapping[str, Any]) -> None:
    if was.get('schema') != TUNE_SCHEMA:
        raise errors.FormatError(
            f'{path} is of schema {was.get("schema")}; this serifos reads '
            f'{TUNE_SCHEMA}: {_REMEDY}.')
    other = [_SAID.get(name, name) for name in header
             if was.get(name) != header[name]]
    if other:
        raise errors.InputError(
            f'{path} is of a search with another {" and ".join(other)}; '
            f'{_REMEDY}.')


def _point(where: str, doc: Mapping[str, Any]) -> tuple[_Key, float]:
    try:
        rmse = doc['rmse']
        if not isinstance(doc['kind'] + doc['predicts'], str):
            raise TypeError('the kind is not a string')
        return (_key(doc['kind'], doc['predicts'], doc['settings']),
                math.nan if rmse is None else float(rmse))
    except (KeyError, TypeError, ValueError, AttributeError):
        raise errors.FormatError(
            f'{where} is not a line of a search; {_REMEDY}.') from None


def _key(kind: str, predicts: str, settings: Mapping[str, float]) -> _Key:
    return kind, predicts, tuple(sorted(
        (name, float(value)) for name, value in settings.items()))
