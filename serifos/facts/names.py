# SPDX-License-Identifier: Apache-2.0
"""The grammar of names that operators write: pools, models, SLOs.

A pool is ``host@backend#pool``; its parts are called as by Cinder's
``extract_host``. A model is named by the stem of its file, ``STEM.json``,
in a capability of the pool. A volume type sets an SLO by the extra
spec :data:`SLO`. A volume's metadata names groups and volumes with which
it is to share a pool, or not.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable
from collections.abc import Mapping
import itertools
import re

from serifos.facts import fields

PREFIX = 'serifos:'
"""Of serifos's extra specs, scheduler hints and metadata."""

SAME_POOL = f'{PREFIX}same_pool'
DIFFERENT_POOL = f'{PREFIX}different_pool'

SLO = f'{PREFIX}max_latency_us'
SLO_US = (1e-3, 1e12)
"""The least and the greatest latency that an SLO can be, µs."""

MOST_BYTES = 250
"""The longest file name, less ``.json``."""


def host(pool: str) -> str:
    """``host`` of ``host@backend#pool``."""
    return pool.partition('@')[0]


def backend(pool: str) -> str:
    """``host@backend`` of ``host@backend#pool``, the host of its service."""
    return pool.partition('#')[0]


def pool_name(pool: str) -> str:
    """``pool`` of ``host@backend#pool``, empty where there is none."""
    return pool.partition('#')[2]


def short(pools: Iterable[str]) -> dict[str, str]:
    """Pool → the shortest of its host, its backend and its name that is its.

    Without the domain that all hosts have in common: where
    ``stor1.example.org`` has one pool, and others are of that domain, it is
    ``stor1``.
    """
    names = [*pools]
    domain = _domain({host(name) for name in names})
    called = {name: forms(name, domain) for name in names}
    number = collections.Counter(
        form for each in called.values() for form in {*each})
    return {name: next((form for form in each if form and number[form] == 1),
                       name)
            for name, each in called.items()}


def forms(pool: str, domain: str = '') -> tuple[str, str, str]:
    """A pool's host, backend and name.

    :param domain: the end of its host, with its dot, that is left out
    """
    its = host(pool)
    whole = its.removesuffix(domain) + pool[len(its):]
    return host(whole), backend(whole), whole


def _domain(hosts: Iterable[str]) -> str:
    """``.example.org`` where all hosts end so; empty for addresses."""
    labels = [each.split('.')[::-1] for each in hosts]
    if not labels or any(each[0].isdigit() for each in labels):
        return ''
    shared = [same[0] for same in itertools.takewhile(
        lambda same: len({*same}) == 1,
        zip(*(each[:-1] for each in labels)))]
    return ''.join(f'.{label}' for label in reversed(shared))


def slo_us(extra_specs: Mapping[str, object]) -> float | None:
    """The SLO of a volume type, µs; None without an SLO.

    :raises ValueError: where it is not a number within :data:`SLO_US`
    """
    said = extra_specs.get(SLO)
    if said is None:
        return None
    found, (least, most) = fields.finite(said), SLO_US
    if found is None or not least <= found <= most:
        raise ValueError(f'{SLO} {fields.shown(said)} is not a number '
                         f'from {least:g} to {most:g}')
    return found


def words(said: object) -> tuple[str, ...]:
    """The items of a list with commas, each once; none of another value."""
    return tuple(dict.fromkeys(filter(None, map(
        str.strip, said.split(','))))) if isinstance(said, str) else ()


_ID = re.compile('[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}')


def is_id(word: str) -> bool:
    """Whether this is the id of a volume, and not the name of a group."""
    return _ID.fullmatch(word.lower()) is not None


def model_fault(stem: object) -> str | None:
    """Why this cannot be the name of a model, a clause; None where it can.

    It comes from the configuration of a backend and becomes part of a path.
    """
    if not isinstance(stem, str):
        return 'is not a text'
    if not stem:
        return 'is empty'
    if stem.startswith('.'):
        return 'begins with a dot'
    if '/' in stem:
        return 'has a / in it'
    if not stem.isprintable():
        return 'has characters that cannot be printed'
    size = len(stem.encode())
    if size > MOST_BYTES:
        return f'has {size} bytes; {MOST_BYTES} are allowed'
    return None
