# SPDX-License-Identifier: Apache-2.0
"""Section ``prometheus``: a day and a window asked of a real Prometheus."""

from __future__ import annotations

from collections.abc import Iterator
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

import history
import numpy as np
import requests
import telemetry

from serifos import errors
from serifos.facts import activity
from serifos.telemetry import exporter
from serifos.telemetry import http
from serifos.telemetry import prometheus

SIZES = ((5, 15), (60, 60))
"""Hosts of 100 volumes, and their scrape_interval, s."""

WHAT = {'window': telemetry.WINDOW_S, 'round': 900, 'day': history.DAY_S}
"""Seconds of what is asked for."""

_UNTIL_S = 120.0
"""How long a server may take to begin."""


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes((*found, number))


def _field(tag: int, said: bytes) -> bytes:
    return bytes((tag,)) + _varint(len(said)) + said


def _series(host: int) -> Iterator[tuple[bytes, float, float]]:
    """Labels, first value and growth a second of each series of a host."""
    def one(metric: str, **labels: str) -> bytes:
        return b''.join(_field(0x0a, _field(0x0a, key.encode())
                               + _field(0x12, said.encode()))
                        for key, said in sorted({
                            '__name__': metric, 'job': 'node',
                            'instance': f'node{host}:9100', **labels}.items()))
    yield one(exporter.BOOTED), 1.7e9, 0.0
    yield one(exporter.CLOCK), 0.0, 1.0
    for nth in range(telemetry.VOLUMES):
        device, lv = f'dm-{nth}', telemetry.lv(host, nth)
        for name, rate in zip(exporter.COUNTERS,
                              (150, 50, 1e6, 3e5, 0.2, 0.05)):
            yield one(name, device=device), nth, rate * (1 + nth / 100)
        yield one(exporter.INFO, device=device, lv_layer='',
                  lv_name=f'volume-{lv}', name=f'ssd-{lv}', vg_name='ssd',
                  uuid='LVM-a60GdoSdAo5Brf8ddo8BfYy9pzgCAbBsF1I2eG2lI'), 1, 0


def _fill(url: str, hosts: int, interval_s: int) -> int:
    """Sends a day up to now, by Prometheus's remote write; its end.

    In slices of half an hour, since it takes none older than an hour. What
    is sent is packed as Snappy wants it, without getting smaller.
    """
    series = [tuple(_series(host)) for host in range(hosts)]
    session = requests.Session()
    at = int(time.time()) - history.DAY_S - history.HOUR_S
    while at < time.time() - interval_s:
        times = np.arange(at, min(at + 1800, int(time.time())), interval_s)
        at = int(times[-1]) + interval_s
        samples = np.empty((len(times), 18), np.uint8)
        samples[:, :3], samples[:, 11] = (0x12, 16, 0x09), 0x10
        samples[:, 12:] = [[*_varint(1000 * int(each))] for each in times]
        for each in series:
            said = bytearray()
            for labels, first, rate in each:
                samples[:, 3:11] = (first + rate * times).astype(
                    '<f8').view(np.uint8).reshape(-1, 8)
                said += _field(0x0a, labels + samples.tobytes())
            session.post(f'{url}/api/v1/write', headers={
                'Content-Encoding': 'snappy'}, data=_varint(len(said))
                + b'\xfc' + (len(said) - 1).to_bytes(4, 'little') + said
                ).raise_for_status()
    return at - interval_s


class _Server:
    """A Prometheus of its own, and what it took."""

    def __init__(self, directory: pathlib.Path) -> None:
        with socket.socket() as free:
            free.bind(('127.0.0.1', 0))
            port = free.getsockname()[1]
        (directory / 'prometheus.yml').write_text('')
        self.url = f'http://127.0.0.1:{port}'
        self._process = subprocess.Popen(
            ['prometheus', f'--config.file={directory}/prometheus.yml',
             f'--storage.tsdb.path={directory}/data',
             '--storage.tsdb.retention.time=100y',
             '--web.enable-remote-write-receiver',
             f'--web.listen-address=127.0.0.1:{port}'],
            stderr=subprocess.DEVNULL)
        session, until = http.session(), time.monotonic() + _UNTIL_S
        while True:
            try:
                http.ask(session, f'{self.url}/-/ready')
                return
            except errors.CloudError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.2)

    def cpu_s(self) -> float:
        told = pathlib.Path(f'/proc/{self._process.pid}/stat').read_text()
        return sum(map(int, told.rpartition(')')[2].split()[11:13])
                   ) / os.sysconf('SC_CLK_TCK')

    def mib(self) -> float:
        told = pathlib.Path(f'/proc/{self._process.pid}/status').read_text()
        return int(told.partition('VmHWM:')[2].split()[0]) / 1024

    def forget(self) -> None:
        """Its most memory until now."""
        pathlib.Path(f'/proc/{self._process.pid}/clear_refs').write_text('5')

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()


def _asked(hosts: int, interval_s: int, url: str, what: str,
           end: int) -> tuple[float, float, float]:
    """CPU s, clock s and MiB of the one who asks."""
    session = http.session(max_bytes=http.MAX_BYTES, timeout_s=600.0)
    source = prometheus.Prometheus(
        session, url, label='instance', interval_s=interval_s,
        clock=lambda: end)
    places = [activity.MeasuredVolume(
        telemetry.lv(host, nth), telemetry.lv(host, nth),
        f'node{host}@ssd#ssd')
        for host in range(hosts) for nth in range(telemetry.VOLUMES)]
    pathlib.Path('/proc/self/clear_refs').write_text('5')
    base, begin = history._resident_kib('VmRSS'), time.perf_counter()
    if what == 'window':
        seconds, found = telemetry._cpu_s(
            lambda: source.observe(places, telemetry.WINDOW_S))
        assert len(found.volumes) == len(places)
    else:
        seconds, found = telemetry._cpu_s(lambda: source.history.read(
            places, end - WHAT[what], end, history.ROUND_S))
        assert (found.seconds > 0).all()
    return seconds, time.perf_counter() - begin, (
        history._resident_kib('VmHWM') - base) / 1024


def _rows(hosts: int, interval_s: int,
          directory: pathlib.Path) -> Iterator[str]:
    server = _Server(directory)
    try:
        end = _fill(server.url, hosts, interval_s)
        for what in WHAT:
            server.forget()
            before = server.cpu_s()
            ours, clock, mib = history._apart(
                _asked, hosts, interval_s, server.url, what, end)
            size = sum(file.stat().st_size for file in
                       (directory / 'data').rglob('*') if file.is_file())
            yield (f'{hosts:5}  {interval_s:8}  {what:7}  '
                   f'{1e3 * ours / hosts:8.0f}  {mib:4.0f}  {clock:7.1f}  '
                   f'{1e3 * (server.cpu_s() - before) / hosts:10.0f}  '
                   f'{server.mib():7.0f}  {size / 2**20:8.0f}')
    finally:
        server.stop()


def lines(quick: bool) -> Iterator[str]:
    """Lines of the section."""
    if not shutil.which('prometheus'):
        yield 'no prometheus is installed'
        return
    yield ('hosts  interval  what     ms/host   MiB  clock s  its ms/host  '
           'its MiB  its disk')
    for hosts, interval_s in ((5, 60),) if quick else SIZES:
        with tempfile.TemporaryDirectory(dir='/var/tmp') as directory:
            yield from _rows(hosts, interval_s, pathlib.Path(directory))
    yield ''
    yield (f'Milliseconds of one processor for each host of '
           f'{telemetry.VOLUMES} volumes, of the balancer and of')
    yield ('Prometheus, the most MiB that they take meanwhile, and MiB of '
           'its disk for that day.')
    yield (f'window: {telemetry.WINDOW_S:g} s for an observation; round: '
           'the slots of five minutes of 15; day: of a day.')
