# SPDX-License-Identifier: Apache-2.0
"""The names of targets that fio takes literally.

fio reads more than a name where it expects one: ``;`` and ``#`` begin a
comment, ``:`` separates files, ``$`` is replaced, a line end begins another
option and blanks at the end are dropped. What serifos starts is given open
descriptors and no names, so that this is a second safeguard; it
lists what is known to be taken literally, not what is not.
"""

from __future__ import annotations

import re

from serifos import errors

_PUNCTUATION = '/._-+,@=~ '
_MOST_BYTES = 2048  # fio cuts a line at 4095
_GROUP = re.compile(r'[A-Za-z0-9_+.][A-Za-z0-9_+.-]{0,126}')


def refuse_unsafe(name: str) -> None:
    """:raises InputError: where fio might not take a path literally"""
    strange = next((c for c in name if not _is_safe(c)), None)
    if strange is not None:
        why = f'holds {strange!r}'
    elif any(part != part.strip(' ') for part in name.split('/')):
        why = 'begins or ends with a blank, or a part of it does'
    elif name.startswith('-'):
        why = 'begins with a hyphen'
    elif len(name.encode()) > _MOST_BYTES:
        why = f'is longer than {_MOST_BYTES} bytes'
    elif not name:
        why = 'is empty'
    else:
        return
    raise errors.InputError(
        f'The name {name!r} {why}, which fio may not take literally; name '
        'a path of letters, digits, blanks within and only these: '
        f'{" ".join(_PUNCTUATION.strip())}')


def refuse_no_group(name: str) -> None:
    """:raises InputError: where LVM would have no volume group so named"""
    if not _GROUP.fullmatch(name) or name in ('.', '..'):
        raise errors.InputError(
            f'{name!r} cannot be the name of a volume group, which is of '
            'letters, digits and _ + . - and begins with no hyphen; write '
            '/dev/NAME for a device, file:PATH for a scratch file.')


def _is_safe(character: str) -> bool:
    return character.isalnum() or character in _PUNCTUATION
