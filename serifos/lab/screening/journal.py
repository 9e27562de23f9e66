# SPDX-License-Identifier: Apache-2.0
"""The journal of a screening and its runs: ``NAME-screening.jsonl``.

The first line says what was varied where; every other is one finished run,
on disk before the next begins. Runs are told apart by their levels and
their round, so that a larger design takes up those of a smaller one.
"""

from __future__ import annotations

from collections.abc import Mapping
import contextlib
import dataclasses
import pathlib
from typing import Any

from serifos import errors
from serifos.facts import dataset
from serifos.facts import fields
from serifos.facts import phrases
from serifos.files import atomic
from serifos.files import jsonl
from serifos.lab.screening import levels
from serifos.lab.screening.levels import Levels

SCHEMA = 'serifos-screening/1'

RESPONSES = ('bandwidth_kib_s', 'iops', 'latency_us')
"""The results of a run, of its reads or its writes."""

_REMEDY = 'fix the file, or screen into another'
_LEAST = 1e-9
_NAMED = 5  # parameters that differ alike


@dataclasses.dataclass(frozen=True)
class ScreeningHeader:
    """The facts that runs must share to be compared.

    :param remounted: the file system was mounted anew before each run
    """

    device: Mapping[str, Any]
    host: str
    kernel: str
    fio: str
    runtime_s: float
    varied: Mapping[str, tuple[str, str]]
    held: Mapping[str, str]
    said: tuple[str, ...] = ()
    created_at: str | None = None
    remounted: bool = False

    @property
    def space(self) -> Levels:
        return Levels(self.varied, self.held, self.said)

    def differences(self, other: ScreeningHeader) -> list[str]:
        """The differences that forbid their runs in one journal.

        Such as 'io_depth: 1,32, not 1,64' and 'fsync: varied, not held'.
        """
        ours, theirs = self._settings, other._settings
        apart = {name: (ours.get(name), theirs.get(name))
                 for name in {**ours, **theirs}
                 if ours.get(name) != theirs.get(name)}
        moved = [(f'{how}, not {otherwise}', [
            name for name in apart
            if name in getattr(self, how) and name in getattr(
                other, otherwise)])
            for how, otherwise in (('varied', 'held'), ('held', 'varied'))]
        named = {name for _, names in moved for name in names}
        return [*(f'{name}: {dataset.words(one)}, not {dataset.words(its)}'
                  for name, (one, its) in apart.items() if name not in named),
                *(f'{phrases.several(names, _NAMED)}: {words}'
                  for words, names in moved if names)]

    @property
    def _settings(self) -> dict[str, Any]:
        return {**self.device, **{
            name: getattr(self, name)
            for name in ('host', 'kernel', 'fio', 'runtime_s', 'remounted')},
            **self.varied, **self.held}

    def unlike(self, other: ScreeningHeader) -> list[str]:
        """The differences that forbid to compare the effects of both.

        The length of a run, whether each was on a file system mounted anew,
        and the level of what neither varies.
        """
        ours, theirs = (
            {'runtime_s': header.runtime_s,
             'remounted': header.remounted, **header.held}
            for header in (self, other))
        return dataset.differences(ours, theirs, [
            name for name in ours if name in theirs])


@dataclasses.dataclass(frozen=True)
class ScreeningRun:
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


def read(path: pathlib.Path
         ) -> tuple[ScreeningHeader, tuple[ScreeningRun, ...]]:
    """:raises InputError: where it is missing, cut short or not ours"""
    return parse(atomic.read_text(path, 'screening'), str(path))


def parse(text: str, path: str
          ) -> tuple[ScreeningHeader, tuple[ScreeningRun, ...]]:
    """The header and the runs of a journal's text.

    :param path: whose text it is, for errors
    :raises FormatError: where it is cut short, or no journal of ours
    """
    docs = [fields.Field(doc, error=fields.unusable(where, errors.FormatError))
            for where, doc in jsonl.parse(text, path, _REMEDY)]
    said = docs[0]['schema'].value if docs else None
    if said != SCHEMA:
        said = said if isinstance(said, str) else 'none'
        raise errors.FormatError(
            f'{path} is of schema {said}; this serifos reads {SCHEMA}.')
    return _header(docs[0]), tuple(map(_run, docs[1:]))


def had(path: pathlib.Path,
        header: ScreeningHeader) -> tuple[ScreeningRun, ...]:
    """The runs that a journal holds already; none where it is not begun.

    :raises InputError: where they are not to be compared with ours
    """
    runs, why = usable(path, header)
    if why is not None:
        raise errors.InputError(why)
    return runs


def usable(path: pathlib.Path, header: ScreeningHeader
           ) -> tuple[tuple[ScreeningRun, ...], str | None]:
    """The runs of a journal that can be resumed, or none and why not."""
    if not jsonl.begun(path, 'screen'):
        return (), None
    was, runs = read(path)
    apart = was.differences(header)
    if not apart:
        return runs, None
    return (), (f'{path} cannot be resumed by this, for it was begun with '
                f'{"; ".join(apart)}; give another --output, or what it was '
                'begun with.')


def lacks(path: pathlib.Path, header: ScreeningHeader, lacking: int,
          total: int) -> str:
    """A sentence on the runs that a journal lacks, and how to make them."""
    target = header.device.get('target') or 'its directory or device'
    return (f'{lacking} of the {total} runs are missing in {path}, which is '
            f'only read; to make them, give {target} --output {path} instead, '
            'with the options that it was screened with.')


def resumed(path: pathlib.Path, header: ScreeningHeader
            ) -> contextlib.AbstractContextManager[None]:
    """A journal to append to, as :func:`.jsonl.resumed`."""
    return jsonl.resumed(
        path, {'schema': SCHEMA, **dataclasses.asdict(header)}, 'screen')


def append(path: pathlib.Path, run: ScreeningRun) -> None:
    """One finished run, on disk before this returns.

    :raises InputError: where it cannot be written
    """
    jsonl.append(path, {'levels': run.levels, 'round': run.round,
                        **run.seen})


def _header(doc: fields.Field) -> ScreeningHeader:
    varied = {}
    for name, ends in doc['varied'].pairs():
        levels = ends.items(2)
        if len(levels) > 2:
            raise ends.wrong('two levels')
        varied[name] = (_level(name, levels[0]), _level(name, levels[1]))
    if not varied:
        raise doc['varied'].wrong('one parameter or more')
    said = doc['said']
    return ScreeningHeader(
        doc['device'].object(), doc['host'].text(), doc['kernel'].text(),
        doc['fio'].text(), doc['runtime_s'].number(), varied,
        {name: _level(name, one) for name, one in doc['held'].pairs()},
        () if said.value is None else tuple(
            one.text() for one in said.items()),
        doc['created_at'].text_or_none(), doc['remounted'].flag(False))


def _run(doc: fields.Field) -> ScreeningRun:
    return ScreeningRun(
        {name: _level(name, one) for name, one in doc['levels'].pairs()},
        doc['round'].whole(1),
        {name: doc[name].number(_LEAST) for name in RESPONSES})


def _level(name: str, said: fields.Field) -> str:
    try:
        return levels.checked(name, said.text())
    except (KeyError, errors.InputError):
        raise said.wrong('a parameter of screen and a level of it') from None
