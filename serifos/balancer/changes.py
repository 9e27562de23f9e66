# SPDX-License-Identifier: Apache-2.0
"""Changes of a volume that Cinder reverts at the end of a migration.

Cinder then exchanges the records of the volume and of its copy, which has
what the volume had when the migration was requested, and deletes the latter:
what the tenant of a volume in use has changed meanwhile goes with it. Of a
detached volume, which the migration locks, Cinder lets nothing be changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import json
import shlex
from typing import Any

from serifos.facts import fields
from serifos.facts.inventory import Record
from serifos.facts import journal

Changes = Mapping[str, Sequence[Any]]
"""Field → its value before and after, None for none."""

COPIED = ('starting', 'migrating')
"""Migration statuses before Cinder exchanges the records."""

SIZE, NAME, DESCRIPTION = 'size_gib', 'name', 'description'
BOOTABLE, TYPE = 'bootable', 'volume_type'
METADATA, SERVER = 'metadata:', 'server:'
"""Prefixes of the fields of an item of metadata, and of an attachment."""

_CINDERS = ('attached_mode', 'readonly')
"""Keys of administrators' metadata that Cinder shows among the others."""

_MOST_CHARACTERS = 50_000
"""Of changes in an entry of the journal, a column of 64 KiB."""

_MOST_SHOWN = 5

RESTORED = 'restored'
"""The result of a recovery in which a person had changes made again."""


def of_last(entries: Iterable[journal.Entry], volume: str) -> Changes:
    """The changes that Cinder has undone, or may, in the last migration.

    Nothing once that was restored.
    """
    found: object = {}
    for entry in entries:
        if entry.facts.get('volume') != volume:
            continue
        if entry.kind == 'changed':
            found = entry.facts['changes']
        elif entry.kind == 'request' or (
                entry.kind == 'recover'
                and entry.facts['result'] == RESTORED):
            found = {}
        elif entry.kind == 'outcome' and (
                entry.facts['result'] in journal.MOVED):
            found = entry.facts.get('lost')
    return read(found)


def held(record: Record) -> dict[str, Any]:
    """The fields of a volume that its tenant sets."""
    return {
        SIZE: record.size_gib, NAME: record.name,
        DESCRIPTION: record.description, BOOTABLE: record.bootable,
        TYPE: record.volume_type,
        **{METADATA + key: value for key, value in record.metadata.items()
           if key not in _CINDERS},
        **{SERVER + server: True for server in record.attachments}}


def read(written: object) -> Changes:
    """The changes of an entry of the journal, as far as they are some."""
    return {field: pair for field, pair in written.items()
            if isinstance(pair, list) and len(pair) == 2 and all(
                _fits(field, value) for value in pair)} if isinstance(
                    written, dict) else {}


def since(before: Mapping[str, Any], now: Mapping[str, Any]) -> Changes:
    """The differences, as many as an entry of the journal has room for.

    An attachment that is gone is none of it: Nova ends it as it copies.
    """
    found, room = {}, _MOST_CHARACTERS
    for field in {**before, **now}:
        pair = [before.get(field), now.get(field)]
        if pair[0] == pair[1] or field.startswith(SERVER) and not pair[1]:
            continue
        room -= len(json.dumps([field, pair]))
        if room < 0:
            break
        found[field] = pair
    return found


def with_old_copy(found: Changes, before: Mapping[str, Any],
                  copy: Record) -> Changes:
    """The changes, also those that the old copy's record has.

    It got what the volume had in the last moment, but for description, type
    and attachments.
    """
    its = since(before, held(copy))
    return {**{field: pair for field, pair in found.items()
               if not _is_exchanged(field)},
            **{field: pair for field, pair in its.items()
               if _is_exchanged(field)}}


def undone(found: Changes, now: Mapping[str, Any]) -> Changes:
    """The changes that are no longer there, the value of before is."""
    return {field: pair for field, pair in found.items()
            if now.get(field) == pair[0]}


def words(found: Changes) -> str:
    """The changes, before and after, as a clause."""
    each = [_words(field, *pair) for field, pair in found.items()]
    more = len(each) - _MOST_SHOWN
    return ', '.join(each[:_MOST_SHOWN]) + f' and {more} more' * (more > 0)


def labels(found: Changes) -> tuple[dict[str, str], dict[str, str | None]]:
    """Name and description, and items of metadata, as they were changed.

    :returns: the latter with None for those that were removed
    """
    return ({field: pair[1] or '' for field, pair in found.items()
             if field in (NAME, DESCRIPTION)},
            {field.removeprefix(METADATA): pair[1]
             for field, pair in found.items() if field.startswith(METADATA)})


def commands(volume: str, found: Changes, project: str | None) -> list[str]:
    """The commands that make the same changes again.

    :param project: whose quota still counts an extension that was undone
    """
    named, metadata = labels(found)
    kept = {key: value for key, value in metadata.items()
            if value is not None}
    sets = [word for name, value in named.items()
            for word in (f'--{name}', _quoted(value))]
    sets += [word for key, value in kept.items()
             for word in ('--property', _quoted(f'{key}={value}'))]
    if BOOTABLE in found:
        sets += ['--bootable' if found[BOOTABLE][1] else '--non-bootable']
    if TYPE in found:
        sets += ['--retype-policy never --type', _quoted(found[TYPE][1] or '')]
    unsets = [word for key in metadata if key not in kept
              for word in ('--property', _quoted(key))]
    extend = 'openstack --os-volume-api-version 3.42 volume set --size'
    volume = _quoted(volume)
    return [
        *([' '.join(['openstack volume set', *sets, volume])]
          if sets else []),
        *([' '.join(['openstack volume unset', *unsets, volume])]
          if unsets else []),
        *(['cinder-manage quota sync --project-id '
           + _quoted(project or 'PROJECT'),
           f'{extend} {found[SIZE][1]:g} {volume}']
          if SIZE in found else [])]


def _fits(field: str, value: object) -> bool:
    if field == SIZE:
        return fields.is_number(value, 0, 1e9)
    return value is None or isinstance(value, bool if (
        field == BOOTABLE or field.startswith(SERVER)) else str)


def _is_exchanged(field: str) -> bool:
    return field in (SIZE, NAME, BOOTABLE) or field.startswith(METADATA)


def _words(field: str, was: Any, now: Any) -> str:
    if field == SIZE:
        return f'size {was:g} -> {now:g} GiB'
    if field.startswith(SERVER):
        return f'attached to server {field.removeprefix(SERVER)}'
    its = [_shown(value) for value in (was, now)]
    if field.startswith(METADATA):
        field = f'metadata {_plain(field.removeprefix(METADATA))}'
    return f'{field.replace("volume_type", "type")} {" -> ".join(its)}'


def _shown(value: Any) -> str:
    return 'none' if value is None else fields.shown(value)


def _plain(key: str) -> str:
    return key if key.isprintable() and len(key) < 64 else fields.shown(key)


def _quoted(text: str) -> str:
    """A text as a word of a shell, of characters that can be printed."""
    if text.isprintable():
        return shlex.quote(text)
    return f"$'{''.join(_escaped(text))}'"


def _escaped(text: str) -> Iterator[str]:
    for letter in text:
        if letter in "\\'":
            yield f'\\{letter}'
        else:
            yield letter if letter.isprintable() else (
                f'\\U{ord(letter):08x}')
