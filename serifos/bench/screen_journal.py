# SPDX-License-Identifier: Apache-2.0
"""What was screened, and how did each run go: ``NAME-screening.jsonl``.

The first line says what was varied where; every other is one finished run,
on disk before the next begins. Runs are told apart by their levels and
their round, so that a larger design takes up those of a smaller one.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import json
import math
import os
import pathlib
from typing import Any

from serifos.bench import screen_levels as sl
from serifos import errors
from serifos import files
from serifos import store
from serifos import strict_json

SCHEMA = 'serifos-screening/1'

RESPONSES = ('bandwidth_kib_s', 'iops', 'latency_us')
"""What a run says, of its reads or its writes."""


@dataclasses.dataclass(frozen=True)
class Header:
    """What runs must have in common to be compared."""

    device: Mapping[str, Any]
    host: str
    kernel: str
    fio: str
    runtime_s: float
    varied: Mapping[str, tuple[str, str]]
    held: Mapping[str, str]
    said: tuple[str, ...] = ()
    created_at: str | None = None

    @property
    def space(self) -> sl.Space:
        return sl.Space(self.varied, self.held, self.said)

    def differences(self, other: Header) -> list[str]:
        """What keeps the runs of one out of the other's journal."""
        names = [f.name for f in dataclasses.fields(self)
                 if f.name not in ('said', 'created_at')]
        return [f'{name} {getattr(self, name)} and {getattr(other, name)}'
                for name in names
                if getattr(self, name) != getattr(other, name)]


@dataclasses.dataclass(frozen=True)
class Run:
    """One finished run.

    :param levels: of every parameter
    :param seen: a figure greater than 0 by each name of :data:`RESPONSES`
    """

    levels: Mapping[str, str]
    round: int
    seen: Mapping[str, float]

    @property
    def key(self) -> tuple[object, ...]:
        return key(self.levels, self.round)


def key(levels: Mapping[str, str], number: int) -> tuple[object, ...]:
    """The same for the same levels in the same round."""
    return (*sorted(levels.items()), number)


def read(path: pathlib.Path) -> tuple[Header, tuple[Run, ...]]:
    """:raises InputError: where it is missing, cut short or not ours"""
    lines = files.read_text(path, 'screening').split('\n')
    if lines[-1]:
        raise errors.FormatError(
            f'{path}, line {len(lines)} is cut short (a write was '
            'interrupted); run the same screen again to resume it.')
    docs = [_parse(f'{path}, line {n}', line)
            for n, line in enumerate(lines, 1) if line.strip()]
    if not docs or docs[0].get('schema') != SCHEMA:
        said = docs[0].get('schema') if docs else None
        raise errors.FormatError(
            f'{path} is of schema {said or "none"}; this serifos reads '
            f'{SCHEMA}.')
    try:
        return _header(docs[0]), tuple(map(_run, docs[1:]))
    except (KeyError, TypeError, ValueError, AttributeError) as exc:
        raise errors.FormatError(
            f'{path} is no screening ({type(exc).__name__}: {exc}); mend '
            'the file, or make it again.') from None


def had(path: pathlib.Path, header: Header) -> tuple[Run, ...]:
    """The runs that a journal holds already; none where it is not begun.

    :raises InputError: where they are not to be compared with ours
    """
    if not path.exists():
        return ()
    store.drop_cut_line(path)
    if not path.stat().st_size:
        return ()
    was, runs = read(path)
    apart = was.differences(header)
    if apart:
        raise errors.InputError(
            f'{path} cannot be resumed by this: {"; ".join(apart)}; give '
            'another --output, or what it was begun with.')
    return runs


def begin(path: pathlib.Path, header: Header) -> None:
    """A journal of a header alone, where there is none yet."""
    if not path.exists() or not path.stat().st_size:
        store.write_text(path, json.dumps(
            {'schema': SCHEMA, **dataclasses.asdict(header)},
            allow_nan=False) + '\n')


def append(path: pathlib.Path, run: Run) -> None:
    """One finished run, on disk before this returns.

    :raises InputError: where it cannot be written
    """
    line = json.dumps({'levels': run.levels, 'round': run.round, **run.seen},
                      allow_nan=False) + '\n'
    try:
        with open(path, 'a', encoding='utf-8') as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
    except OSError as exc:
        raise errors.InputError(
            f'{path} cannot be written ({exc.strerror}); make room, and the '
            'same command resumes.') from None


def _parse(where: str, line: str) -> dict[str, Any]:
    try:
        doc = strict_json.loads(line)
    except ValueError as exc:
        raise errors.FormatError(
            f'{where}: {exc}; mend the file, or make it again.') from None
    if not isinstance(doc, dict):
        raise errors.FormatError(
            f'{where} is no object; mend the file, or make it again.')
    return doc


def _header(doc: Mapping[str, Any]) -> Header:
    names = {field.name for field in dataclasses.fields(Header)}
    known = {name: value for name, value in doc.items() if name in names}
    known['varied'] = {name: (low, high)
                       for name, (low, high) in doc['varied'].items()}
    known['said'] = tuple(doc.get('said', ()))
    for name in (*known['varied'], *known['held']):
        if name not in sl.PARAMETERS:
            raise ValueError(f'there is no parameter {name}')
    return Header(**known)


def _run(doc: Mapping[str, Any]) -> Run:
    seen = {name: float(doc[name]) for name in RESPONSES}
    for name, value in seen.items():
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f'a {name} of {value} is no figure')
    return Run(dict(doc['levels']), int(doc['round']), seen)
