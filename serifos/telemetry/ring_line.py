# SPDX-License-Identifier: Apache-2.0
"""Readings as lines of JSON, and back."""

from __future__ import annotations

import json
import math
from typing import Any

from serifos.files import jsonl
from serifos.telemetry import counters

_AT = b'{"at":'


def text(host: str, reading: counters.Reading) -> str:
    """A reading as a line; without its numbers where one is not finite."""
    doc: dict[str, Any] = {'at': round(reading.at, 3), 'host': host}
    if reading.volumes:
        doc['volumes'] = {lv: c.values for lv, c in reading.volumes.items()}
    if reading.faults:
        doc['faults'] = dict(reading.faults)
    if reading.started is not None:
        doc['started'] = reading.started
    if reading.clock is not None:
        doc['clock'] = reading.clock
    if reading.fault is not None:
        doc['fault'] = reading.fault
    try:
        return json.dumps(doc, separators=(',', ':'), allow_nan=False) + '\n'
    except ValueError:
        return text(host, counters.Reading(
            reading.at, fault='its reading holds a number that is not finite'))


def reading(line: bytes) -> tuple[str, counters.Reading] | None:
    """The host and its reading, None where a line is not what we wrote."""
    try:
        doc = jsonl.document(line)
    except ValueError:
        return None
    host, volumes, faults = (doc.get(name, default) for name, default in (
        ('host', None), ('volumes', {}), ('faults', {})))
    started, clock, fault = (
        doc.get(name) for name in ('started', 'clock', 'fault'))
    if not (isinstance(host, str) and counters.is_time(doc.get('at'))
            and isinstance(volumes, dict) and isinstance(faults, dict)
            and all(isinstance(text, str) for text in faults.values())
            and (fault is None or isinstance(fault, str))
            and all(time is None or counters.is_time(time)
                    for time in (started, clock))
            and all(isinstance(values, list) and len(values) == 6
                    and all(map(counters.is_figure, values))
                    for values in volumes.values())):
        return None
    return host, counters.Reading(
        doc['at'], {lv_id: counters.Counters(*values)
                    for lv_id, values in volumes.items()},
        faults, started, fault, clock)


def time_of(line: bytes) -> float:
    """The time that a line begins with, without parsing all of it.

    Infinite where it begins otherwise, so that the line is parsed.
    """
    try:
        return float(line[:40].removeprefix(_AT).partition(b',')[0])
    except ValueError:
        return math.inf
