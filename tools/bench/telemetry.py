# SPDX-License-Identifier: Apache-2.0
"""Section ``telemetry``: processor time of readings of many hosts."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import dataclasses
import http.server
import multiprocessing
import pathlib
import tempfile
import time
from typing import Any

import history
from prometheus_client import parser

from serifos.database import connection
from serifos.database.history_store import Store
from serifos.facts import activity
from serifos.telemetry import counters
from serifos.telemetry import exporter
from serifos.telemetry import http as asking
from serifos.telemetry import ring
from serifos.telemetry import scrape
from serifos.telemetry import window

HOSTS, VOLUMES = (10, 100, 1_000), 100
INTERVAL_S, WINDOW_S, ROUND_S = 15.0, 600.0, 300
_ASKED = 10
"""Hosts whose requests are timed; each costs the same."""

_OTHERS = (
    'discard_time_seconds_total', 'discarded_sectors_total',
    'discards_completed_total', 'discards_merged_total',
    'flush_requests_time_seconds_total', 'flush_requests_total', 'io_now',
    'io_time_seconds_total', 'io_time_weighted_seconds_total',
    'reads_merged_total', 'writes_merged_total')
"""What node_exporter 1.5 shows of each device and nobody reads."""


def lv(host: int, volume: int) -> str:
    return f'{host:08x}-0000-4000-8000-{volume:012x}'


def text(host: int, at: float) -> bytes:
    """The answer of a node_exporter to ``collect[]=diskstats`` and so on."""
    lines = [f'{exporter.BOOTED} 1.7e+09', f'{exporter.CLOCK} {at!r}']
    devices = [f'dm-{nth}' for nth in range(VOLUMES)]
    lines += [
        f'{exporter.INFO}{{device="{device}",lv_layer="",'
        f'lv_name="volume-{lv(host, nth)}",name="ssd-{lv(host, nth)}",'
        f'uuid="LVM-a60GdoSdAo5Brf8ddo8BfYy9pzgCAbBsF1I2eG2lI2yoaTbfGiJ",'
        'vg_name="ssd"} 1' for nth, device in enumerate(devices)]
    for name in (*exporter.COUNTERS, *(f'node_disk_{its}'
                                       for its in _OTHERS)):
        lines += [f'# HELP {name} Of a disk.', f'# TYPE {name} counter']
        grown = (at - 1.7e9) * (
            4096 if '_bytes_' in name else 0.001 if '_time_' in name else 1)
        lines += [f'{name}{{device="{device}"}} {nth + grown:.9e}'
                  for nth, device in enumerate(devices)]
    return '\n'.join([*lines, '']).encode()


def _serve(body: bytes, found: Any) -> None:
    """A node_exporter, in a process of its own."""
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = 'HTTP/1.1'

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header('Content-Length', str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(('0.0.0.0', 0), Handler)
    found.put(server.server_port)
    server.serve_forever()


def _later(reading: counters.Reading, seconds: float) -> counters.Reading:
    """A reading of so much later, in which all counters have grown."""
    return dataclasses.replace(
        reading, at=reading.at + seconds, clock=reading.clock + seconds,
        volumes={lv_id: counters.Counters(*(
            value + seconds * rate for value, rate in zip(
                its, (150, 50, 1e6, 3e5, 0.2, 0.05))))
                 for lv_id, its in reading.volumes.items()})


def _cpu_s(work: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.process_time()
    found = work()
    return time.process_time() - begin, found


def _case(hosts: int, directory: str) -> dict[str, float]:
    """Seconds of each step of all hosts, and MiB."""
    found = {}
    at = float(history.BEGIN)
    bodies = [text(host, at) for host in range(hosts)]
    found['parser'] = _cpu_s(lambda: [
        list(parser.text_string_to_metric_families(body.decode()))
        for body in bodies[:_ASKED]])[0] * hosts / min(hosts, _ASKED)
    found['requests'] = _requests(bodies[0]) * hosts
    found['samples'], readings = _cpu_s(lambda: {
        f'node{host}': exporter.reading(at, exporter.parse(body))
        for host, body in enumerate(bodies)})
    kept = ring.Ring(directory, 2 * WINDOW_S)
    found['ring'], _ = _cpu_s(lambda: kept.append(readings))
    while (at := at + INTERVAL_S) <= history.BEGIN + window.reach_s(
            WINDOW_S, INTERVAL_S):
        kept.append({host: _later(reading, at - reading.at)
                     for host, reading in readings.items()})
    places = [activity.MeasuredVolume(
        lv(host, volume), lv(host, volume), f'node{host}@ssd#ssd')
        for host in range(hosts) for volume in range(VOLUMES)]
    source = scrape.Scrape(
        asking.session(), {f'node{host}': '' for host in range(hosts)}, kept,
        interval_s=INTERVAL_S, clock=lambda: at)
    pathlib.Path('/proc/self/clear_refs').write_text('5')
    found['observed'], seen = _cpu_s(
        lambda: source.observe(places, WINDOW_S))
    assert len(seen.volumes) == len(places)
    store = Store(connection.Database(
        f'sqlite:///{directory}/history.sqlite', content=connection.HISTORY))
    end = int(at) // 60 * 60 - 60
    found['history'], series = _cpu_s(lambda: source.read(
        places, end - ROUND_S, end, 60))
    assert (series.seconds > 0).mean() > 0.9
    found['written'], _ = _cpu_s(lambda: store.add(series, store.until()))
    found['mib'] = history._resident_kib('VmHWM') / 1024
    return found


def _requests(body: bytes) -> float:
    """Seconds of a request, of whoever asks."""
    port: Any = multiprocessing.Queue()
    server = multiprocessing.Process(
        target=_serve, args=(body, port), daemon=True)
    server.start()
    url, session = f'http://127.0.0.1:{port.get()}/', asking.session()
    asking.ask(session, url)
    seconds, _ = _cpu_s(lambda: [
        asking.ask(session, url).content for _ in range(20)])
    server.terminate()
    return seconds / 20


COLUMNS = (
    ('parser', 'parser'), ('requests', 'ask'), ('samples', 'read'),
    ('ring', 'keep'), ('all', 'all'), ('observed', 'observe'),
    ('history', 'minutes'), ('written', 'write'))


def lines(quick: bool) -> Iterator[str]:
    """Lines of the section."""
    yield 'hosts  ' + '  '.join(f'{said:>7}' for _, said in COLUMNS) + (
        '  all/parser      MiB')
    for hosts in HOSTS[:1] if quick else HOSTS:
        with tempfile.TemporaryDirectory(dir='/var/tmp') as directory:
            found = history._apart(_case, hosts, directory)
        found['all'] = sum(found[step] for step in (
            'requests', 'samples', 'ring'))
        yield f'{hosts:5}  ' + '  '.join(
            f'{1e3 * found[step] / hosts:7.2f}' for step, _ in COLUMNS) + (
            f'  {found["all"] / found["parser"]:10.2f}  {found["mib"]:7.0f}')
    yield ''
    yield (f'Milliseconds of one processor for each host of {VOLUMES} '
           'volumes; MiB of the process.')
    yield ("parser: prometheus_client's alone, of the same answer. Each "
           'interval: ask over HTTP,')
    yield ('read the answer, keep it in the ring. Each round: observe a '
           f'window of {WINDOW_S:g} s, take')
    yield f'{ROUND_S // 60} minutes of the ring, write them to the history.'
