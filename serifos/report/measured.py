# SPDX-License-Identifier: Apache-2.0
"""The device, the host and the date of measurements, as sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from typing import Protocol


def device_of(facts: Mapping[str, Any] | None) -> str:
    """The known facts of a device: ``model X, serial Y``."""
    return ', '.join(f'{name} {value}' for name, value
                     in (facts or {}).items() if value is not None)


def place_of(host: str | None, created_at: str | None) -> str:
    """``on HOST at DATE``, as far as it is known."""
    return ' '.join(filter(None, (host and f'on {host}',
                                  created_at and f'at {created_at}')))


class Header(Protocol):
    """The first line of a file of runs."""

    @property
    def device(self) -> Mapping[str, Any]: ...

    @property
    def host(self) -> str | None: ...

    @property
    def created_at(self) -> str | None: ...


def of(header: Header) -> str:
    """The device of a file of runs, where and when it was measured."""
    return text(header.device, header.host, header.created_at)


def text(facts: Mapping[str, Any] | None, host: str | None,
         created_at: str | None) -> str:
    """Both as sentences, each on a line of its own; empty where unknown.

    :param facts: of the device
    """
    which, where = device_of(facts), place_of(host, created_at)
    return '\n'.join(filter(None, (
        which and f'The device: {which}.', where and f'Measured {where}.')))
