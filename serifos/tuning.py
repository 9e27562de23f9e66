# SPDX-License-Identifier: Apache-2.0
"""Which settings were evaluated already, and how good were they?

``STEM.tune.jsonl``: a header that says of which runs, then one line for
each evaluated point. A search that was cut goes on from it, and one that
is made again takes no time.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import fcntl
import json
import math
import os
import pathlib
from typing import Any
from typing import TextIO

from oslo_log import log

from serifos import errors
from serifos import files
from serifos import store
from serifos import strict_json

LOG = log.getLogger(__name__)

TUNE_SCHEMA = 'serifos-tune/1'

_Key = tuple[str, str, tuple[tuple[str, float], ...]]


class Journal:
    """The evaluated points of one dataset; made by :func:`opened`."""

    def __init__(self, file: TextIO, known: dict[_Key, float]) -> None:
        self._file = file
        self._known = known

    def has(self, kind: str, predicts: str,
            settings: Mapping[str, float]) -> bool:
        return _key(kind, predicts, settings) in self._known

    def rmse(self, kind: str, predicts: str,
             settings: Mapping[str, float]) -> float:
        """Of settings that were evaluated; NaN where a fit failed.

        :raises KeyError: where they were not evaluated
        """
        return self._known[_key(kind, predicts, settings)]

    def add(self, kind: str, predicts: str, settings: Mapping[str, float],
            rmse: float) -> None:
        """Keeps what was evaluated.

        :raises InputError: where it cannot be written
        """
        self._known[_key(kind, predicts, settings)] = rmse
        line = json.dumps({
            'kind': kind, 'predicts': predicts, 'settings': dict(settings),
            'rmse': rmse if math.isfinite(rmse) else None}, allow_nan=False)
        try:
            self._file.write(line + '\n')
            self._file.flush()
        except OSError as exc:
            raise errors.InputError(
                f'{self._file.name} cannot be written ({exc.strerror}); '
                'make room, and the same command resumes.') from None


@contextlib.contextmanager
def opened(path: str | os.PathLike[str],
           facts: Mapping[str, Any]) -> Iterator[Journal]:
    """The journal, begun where it is not, and nobody else writing to it.

    :param facts: what all points have in common: the dataset's sha256, the
        seed and number of the folds, ...
    :raises InputError: where it was begun with other facts, is no journal,
        or cannot be written
    """
    path = pathlib.Path(path)
    header = {'schema': TUNE_SCHEMA, **facts}
    try:
        begun = bool(files.read_text(path, 'search')) if (
            path.exists()) else False
        if begun and store.drop_cut_line(path):
            LOG.warning('The last line of %s was cut short; that point is '
                        'evaluated again.', path)
    except OSError as exc:
        raise errors.InputError(
            f'{path} cannot be used: {exc.strerror}.') from None
    if not begun:
        store.write_text(path, json.dumps(header, allow_nan=False) + '\n')
    with _alone(path) as file:
        first, *lines = files.read_text(path, 'search').split('\n')
        _refuse_another(path, _parsed(path, 1, first), header)
        yield Journal(file, dict(_points(path, lines)))


@contextlib.contextmanager
def _alone(path: pathlib.Path) -> Iterator[TextIO]:
    try:
        file = open(path, 'a', encoding='utf-8')
    except OSError as exc:
        raise errors.InputError(
            f'{path} cannot be written: {exc.strerror}.') from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise errors.InputError(
                f'Another search writes to {path}; wait for its end.'
            ) from None
        yield file


def _refuse_another(path: pathlib.Path, was: Mapping[str, Any],
                    header: Mapping[str, Any]) -> None:
    if was.get('schema') != TUNE_SCHEMA:
        raise errors.FormatError(
            f'{path} is of schema {was.get("schema")}; this serifos reads '
            f'{TUNE_SCHEMA}: delete it to search anew.')
    apart = [name for name in header if was.get(name) != header[name]]
    if apart:
        raise errors.InputError(
            f'{path} remembers a search with another {" and ".join(apart)}; '
            'delete it to search anew.')


def _points(path: pathlib.Path,
            lines: list[str]) -> Iterator[tuple[_Key, float]]:
    for number, line in enumerate(lines, 2):
        if not line.strip():
            continue
        doc = _parsed(path, number, line)
        try:
            rmse = doc['rmse']
            if not isinstance(doc['kind'] + doc['predicts'], str):
                raise TypeError('the kind is no text')
            yield (_key(doc['kind'], doc['predicts'], doc['settings']),
                   math.nan if rmse is None else float(rmse))
        except (KeyError, TypeError, ValueError, AttributeError):
            raise _broken(path, number) from None


def _parsed(path: pathlib.Path, number: int, line: str) -> dict[str, Any]:
    try:
        doc = strict_json.loads(line)
    except ValueError:
        doc = None
    if not isinstance(doc, dict):
        raise _broken(path, number)
    return doc


def _broken(path: pathlib.Path, number: int) -> errors.FormatError:
    return errors.FormatError(
        f'{path}, line {number} is no line of a search; delete the file to '
        'search anew.')


def _key(kind: str, predicts: str, settings: Mapping[str, float]) -> _Key:
    return kind, predicts, tuple(sorted(
        (name, float(value)) for name, value in settings.items()))
