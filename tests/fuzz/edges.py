# SPDX-License-Identifier: Apache-2.0
"""Parsers of servers' replies, options and arguments, as functions of bytes.

See :mod:`tests.fuzz.targets`.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import io
import json
from typing import Any

import requests

from serifos.cloud import api_errors
from serifos.cloud import client as volumes
from serifos.cmd.balancer import configuration
from serifos.cmd.model import design_options
from serifos.cmd import status
from serifos import conf
from serifos.design import design
from serifos.design import full
from serifos import errors
from serifos.facts import activity
from serifos.facts import extra_specs
from serifos.facts import journal
from serifos.facts import strict_json
from serifos.files import jsonl
from serifos.lab.backtest import csv_history
from serifos.lab.backtest import replay
from serifos.lab.screening import journal as screen_journal
from serifos.lab.screening import levels as screen_levels
from serifos.lab.screening import screening_command as screen_command
from serifos.telemetry import counters
from serifos.telemetry import exporter
from serifos.telemetry import gnocchi
from serifos.telemetry import prometheus
from serifos.telemetry import ring
from tests.fuzz import files

_NOW = 10_000.0
_PLACES = [activity.MeasuredVolume('a', 'a', 'node1@ssd#ssd')]


class _Server:
    """A session whose every answer has this body."""

    auth = None

    def __init__(self, *bodies: bytes) -> None:
        self._bodies = bodies

    def request(self, url: str, method: str, **_: Any) -> requests.Response:
        answer = requests.Response()
        answer.status_code, answer.encoding = 200, 'utf-8'
        answer.url = url
        answer.raw = io.BytesIO(self._bodies[0 if 'search' in url else -1])
        return answer


def exposition(data: bytes) -> None:
    """The metrics page of a node_exporter."""
    try:
        found = exporter.parse(data)
    except ValueError:
        return
    exporter.reading(_NOW, found)


def of_prometheus(data: bytes) -> None:
    """A Prometheus server's reply to a query."""
    prometheus.Prometheus(
        _Server(data), 'http://p', label='instance', interval_s=15.0,
        clock=lambda: _NOW).observe(_PLACES, 600, ['node1@ssd#ssd'])


def of_gnocchi(data: bytes) -> None:
    """Gnocchi's replies: to a search, then the measures of metrics."""
    search, _, measures = data.partition(b'\n')
    gnocchi.Gnocchi(_Server(search, measures), 'http://g',
                    lambda: {'a': ('i-1', '/dev/vdb', 0.0)},
                    granularity_s=300.0, clock=lambda: _NOW
                    ).observe(_PLACES, 600)


def of_ring(data: bytes) -> None:
    """telemetry.jsonl, after a crash or of another version."""
    path = files.file_of(data, 'telemetry.jsonl', alone=True)
    kept = ring.Ring(path.parent, 600)
    kept.read()
    kept.append({'h': counters.Reading(_NOW)})
    kept.read(_NOW - 600)


def cinder(data: bytes) -> None:
    """Cinder's replies, by path."""
    from tests.unit.cloud import test_hostile as hostile
    try:
        said = strict_json.loads(data)
    except ValueError:
        return
    if not isinstance(said, dict):
        said = {path: said for path in hostile.replies()}
    said = {**{path: {} for path in hostile.replies()}, **said}
    client = volumes.Cinder(hostile.Client(said))
    for ask in (hostile.HostileTest.all_the_way,
                lambda c: c.volume('v'), lambda c: c.halves('v'),
                lambda c: c.attachments()):
        try:
            ask(client)
        except errors.SerifosError:
            pass


def extra_spec(data: bytes) -> None:
    """An extra spec of a volume type, then a capability of a pool."""
    asked, _, said = files.text(data).partition('\n')
    key, _, required = asked.partition('=')
    try:
        found = strict_json.loads(said)
    except ValueError:
        found = said.split(',')
    extra_specs.unmet({key: required}, {key: found, 'a': {'b': found}})


def refusal(data: bytes) -> None:
    """An error message of Cinder's, in HTML or not."""
    if '\n' in api_errors.said(Exception(files.text(data))):
        raise AssertionError('a newline')


def journal_rows(data: bytes) -> None:
    """Rows of the journal, and all questions to it."""
    entries = []
    for _, doc in jsonl.parse(data, 'the rows', 'delete it'):
        with contextlib.suppress(ValueError):
            entries.append(journal.Entry.checked(
                doc.pop('at', None), doc.pop('kind', None), doc))
    for ask in (journal.open_moves, journal.last_moves, journal.last_outcome,
                journal.failures_in_a_row, journal.doubt,
                lambda its: [*journal.known_lost(its)]):
        ask(entries)
    journal.back_offs(entries, 0.0)
    json.dumps([e.to_json() for e in entries], allow_nan=False).encode()


def screening(data: bytes) -> None:
    """The journal of screen."""
    header, runs = screen_journal.read(files.file_of(data))
    for run in runs:
        header.space.run(run.levels)
    json.dumps([run.seen for run in runs], allow_nan=False)


@functools.cache
def _place() -> screen_levels.JobTarget:
    return screen_levels.JobTarget('/srv', 800 * 2 ** 30, True, 512)


def levels(data: bytes) -> None:
    """--levels of screen."""
    try:
        name, asked = screen_command.levels_of(files.text(data))
    except argparse.ArgumentTypeError:
        return
    screen_levels.space(_place(), {name: asked})


def vectors(data: bytes) -> None:
    """The lists of design, one a line."""
    try:
        lists = [design_options.list_of(float)(line)
                 for line in files.text(data).split('\n')]
    except argparse.ArgumentTypeError:
        return
    space = design.Space(*(lists * 6)[:2], (1, 2), *(lists * 6)[2:5])
    full.number(space, 2)


def history_csv(data: bytes) -> None:
    """A history that a backtest replays."""
    found = csv_history.parsed(io.StringIO(files.text(data)), 'history')
    replay.prepared(found.series, 7.0)
    json.dumps(found.size_gib, allow_nan=False)


def options(data: bytes) -> None:
    """serifos.conf."""
    read = conf.load([str(files.file_of(data, 'serifos.conf'))])
    read.unknown()
    configuration.settings(read)


def scheduler_options(data: bytes) -> None:
    """cinder.conf, as serifos-status reads it."""
    path = str(files.file_of(data, 'cinder.conf'))
    for _ in status.scheduler_findings([path], conf.load(['/dev/null'])):
        pass


def sentences(data: bytes) -> None:
    """Text from outside that is quoted in a message or a log."""
    text = files.text(data)
    said = str(errors.SerifosError(errors.masked(text)))
    if len(said) > 1500 or '\n' in said:
        raise AssertionError(said)
    if not said.isprintable():
        raise AssertionError(said)
