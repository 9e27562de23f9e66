# SPDX-License-Identifier: Apache-2.0
"""Read ``cluster.json`` one pool or volume at a time.

No request can wait until the file of a cloud of 10,000 pools is read: these
generators pause after every pool or volume.
"""

from __future__ import annotations

from collections.abc import Generator
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import pathlib
from typing import Any
from typing import TypeVar

from serifos import errors
from serifos.facts import cluster
from serifos.facts import fields
from serifos.files import atomic
from serifos.files import documents
from serifos.files import json_parts

_T = TypeVar('_T')

Steps = Generator[int, None, _T]
"""Work that pauses; it yields how many lines it did since the last time."""

LINES, LINE = 2, 1024
"""Lines that a pool or volume counts for, and characters that count as
another line."""

_REMEDY = 'fix the file, or make it again'


@dataclasses.dataclass(frozen=True)
class File:
    """The part of a ``serifos-cluster/1`` document that is used here.

    :param observed_at: seconds of the epoch, where it is said
    """

    pools: list[cluster.Pool]
    volumes: list[cluster.Volume]
    observed_at: float | None = None


def read(path: pathlib.Path) -> Steps[File]:
    """The file, in steps.

    :raises InputError: where it is missing or not a cluster
    """
    try:
        with atomic.open_text(path, 'cluster') as file:
            return (yield from _file(json_parts.of(file, _MAKERS), path))
    except UnicodeDecodeError:
        raise errors.FormatError(
            f'{path} is not UTF-8 text, so it is not a cluster.') from None
    except ValueError as exc:
        raise errors.FormatError(f'{path}: {exc}; {_REMEDY}.') from None
    except OSError as exc:
        raise errors.InputError(
            f'The cluster {path} cannot be read: {exc.strerror}.') from None


def _file(found: Iterable[json_parts.Part],
          path: pathlib.Path) -> Steps[File]:
    rest: dict[str, Any] = {}
    made: dict[str, list[Any]] = {name: [] for name in _MAKERS}
    for part in found:
        if part.element:
            several = made[part.name]
            why = documents.fault('cluster', part.value, part.name)
            if why is not None:
                raise ValueError(f'{part.name}[{len(several)}]: {why}')
            several.append(_MAKERS[part.name](part.value))
        elif part.name in rest:
            raise ValueError(f'it has the key {part.name} twice')
        else:
            rest[part.name] = part.value
        yield LINES + part.length // LINE
    if rest.get('schema') != cluster.CLUSTER_SCHEMA:
        raise errors.FormatError(
            f'{path} says {rest.get("schema")!r} where its schema should be; '
            f'this serifos reads {cluster.CLUSTER_SCHEMA}.')
    why = documents.fault('cluster', rest)
    if why is not None:
        raise ValueError(why)
    return File(made['pools'], made['volumes'],
                fields.Field(rest)['observed_at'].moment_or_none())


def _pool(doc: Mapping[str, Any]) -> cluster.Pool:
    return cluster.Pool(
        doc['name'], doc.get('model'), state=doc.get('state') or 'up',
        device=doc.get('device'), copies_gib=doc.get('copies_gib') or 0.0,
        correction=doc.get('correction') or 1.0)


def _volume(doc: Mapping[str, Any]) -> cluster.Volume:
    workload = doc.get('workload')
    return cluster.Volume(
        doc['id'], doc['pool'], doc['size_gib'],
        volume_type=doc.get('volume_type'),
        max_latency_us=doc.get('max_latency_us'),
        project_id=doc.get('project_id'),
        same_pool=tuple(doc.get('same_pool') or ()),
        different_pool=tuple(doc.get('different_pool') or ()),
        workload=None if workload is None else cluster.workload(workload))


_MAKERS = {'pools': _pool, 'volumes': _volume}
