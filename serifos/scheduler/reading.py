# SPDX-License-Identifier: Apache-2.0
"""``cluster.json`` as the scheduler reads it: one pool or volume at a time.

No request can wait until the file of a cloud of 10,000 pools is read: what
is here are generators, which pause after every line. They check what the
scheduler uses by the rules of the file's schema, and look at nothing else.
"""

from __future__ import annotations

from collections.abc import Generator
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import pathlib
from typing import Any
from typing import TypeVar

from serifos import cluster as cl
from serifos import errors
from serifos import files
from serifos.scheduler import parts
from serifos import workload as wl

_T = TypeVar('_T')

Steps = Generator[int, None, _T]
"""Work that pauses; it yields how many lines it did since the last time."""

LINE = 1024
"""Characters that count as another line where a pool or volume has more."""

_GIB, _COPIES_GIB, _KNOWN, _BLOCK_KIB, _US = 1e15, 1e30, 1e12, 1048576, 1e15
_LONGEST = 4096  # characters of a name
_MEND = 'mend the file, or make it again'


@dataclasses.dataclass(frozen=True)
class File:
    """What the scheduler reads of a ``serifos-cluster/1`` document."""

    pools: list[cl.Pool]
    volumes: list[cl.Volume]
    observed_at: str | None = None


def cluster(path: pathlib.Path) -> Steps[File]:
    """The file, in steps.

    :raises InputError: where it is missing or not a cluster
    """
    try:
        with files.open_text(path, 'cluster') as file:
            return (yield from _file(parts.of(file, _MAKERS), path))
    except UnicodeDecodeError:
        raise errors.FormatError(
            f'{path} is not UTF-8 text, so it is no cluster.') from None
    except ValueError as exc:
        raise errors.FormatError(f'{path}: {exc}; {_MEND}.') from None
    except OSError as exc:
        raise errors.InputError(
            f'The cluster {path} cannot be read: {exc.strerror}.') from None


def _file(found: Iterable[parts.Part], path: pathlib.Path) -> Steps[File]:
    rest: dict[str, Any] = {}
    made: dict[str, list[Any]] = {name: [] for name in _MAKERS}
    for part in found:
        if part.element:
            several = made[part.name]
            several.append(_MAKERS[part.name](
                part.value, f'{part.name}[{len(several)}]'))
        elif part.name in rest:
            raise ValueError(f'it says {part.name} twice')
        else:
            rest[part.name] = part.value
        yield 1 + part.length // LINE
    if rest.get('schema') != cl.CLUSTER_SCHEMA:
        raise errors.FormatError(
            f'{path} says {rest.get("schema")!r} where its schema should be; '
            f'this serifos reads {cl.CLUSTER_SCHEMA}.')
    for name in _MAKERS:
        if rest.get(name) != []:
            raise ValueError(f'it has no list of {name}')
    return File(made['pools'], made['volumes'],
                _text(rest, 'observed_at', 'it'))


def _pool(doc: Any, where: str) -> cl.Pool:
    _object(doc, where)
    return cl.Pool(
        _name(doc, 'name', where), _text(doc, 'model', where),
        state=_text(doc, 'state', where) or 'up',
        device=_text(doc, 'device', where),
        copies_gib=_figure(doc, 'copies_gib', where, 0, _COPIES_GIB) or 0.0)


def _volume(doc: Any, where: str) -> cl.Volume:
    _object(doc, where)
    size = _figure(doc, 'size_gib', where, 0, _GIB)
    if size is None:
        raise ValueError(f'{where} has no size_gib')
    promise = _figure(doc, 'max_latency_us', where, 0, _US)
    if promise == 0:
        raise ValueError(f'max_latency_us of {where} is no latency')
    workload = doc.get('workload')
    return cl.Volume(
        _name(doc, 'id', where), _name(doc, 'pool', where), size,
        _text(doc, 'volume_type', where), max_latency_us=promise,
        workload=None if workload is None else _workload(workload, where))


_MAKERS = {'pools': _pool, 'volumes': _volume}


def _workload(doc: Any, where: str) -> wl.Workload:
    _object(doc, where)
    write_pct = _figure(doc, 'write_pct', where, 0, 100)
    block_kib = _figure(doc, 'block_kib', where, 0, _BLOCK_KIB)
    if write_pct is None or block_kib is None:
        raise ValueError(
            f'the workload of {where} has no write_pct or no block_kib')
    depth = _figure(doc, 'iodepth', where, 0, _KNOWN)
    random_pct = _figure(doc, 'random_pct', where, 0, 100)
    return wl.Workload(
        write_pct, block_kib,
        wl.DEFAULT_IODEPTH if depth is None else depth,
        wl.DEFAULT_RANDOM_PCT if random_pct is None else random_pct,
        _figure(doc, 'iops', where, 0, _KNOWN),
        _figure(doc, 'latency_us', where, 0, _KNOWN))


def _object(doc: Any, where: str) -> None:
    if type(doc) is not dict:
        raise ValueError(f'{where} is no object')


def _figure(doc: Mapping[str, Any], name: str, where: str, least: float,
            most: float) -> float | None:
    value = doc.get(name)
    if value is None:
        return None
    if type(value) in (int, float) and least <= value <= most:
        return value
    raise ValueError(f'{name} of {where} is no number from {least:g} to '
                     f'{most:g}')


def _text(doc: Mapping[str, Any], name: str, where: str) -> str | None:
    value = doc.get(name)
    if value is None or isinstance(value, str) and len(value) <= _LONGEST:
        return value
    raise ValueError(f'{name} of {where} is no text of up to {_LONGEST} '
                     'characters')


def _name(doc: Mapping[str, Any], name: str, where: str) -> str:
    value = _text(doc, name, where)
    if value:
        return value
    raise ValueError(f'{where} has no {name}')
