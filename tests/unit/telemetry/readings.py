# SPDX-License-Identifier: Apache-2.0
"""Counters and the text of an exporter, for tests of telemetry."""

from __future__ import annotations

import contextlib
import http.server
import pathlib
import threading

from serifos.facts import activity
from serifos.telemetry.counters import Counters
from serifos.telemetry import exporter

REAL = pathlib.Path(__file__).with_name('node_exporter.txt').read_text()
"""What Debian's prometheus-node-exporter 1.5.0 answered to
``curl -g 'http://10.77.0.11:9100/metrics?collect[]=diskstats&collect[]=stat'``
in a storage host of ``tools/testbed up``, with two volumes of Cinder."""

FIRST = 'dec11c61-3901-4775-9f06-a05e2b87227b'
SECOND = 'a02c379e-feed-4901-bcc8-9b7ae2165998'

LAYERS = ''.join(
    f'node_disk_device_mapper_info{{device="{device}",lv_layer="{layer}",'
    f'lv_name="{name}",name="ssd-x",uuid="LVM-x",vg_name="ssd"}} 1\n'
    for device, name, layer in (
        ('dm-5', f'volume-{SECOND}', 'real'),
        ('dm-6', f'_snapshot-{SECOND}', 'cow'),
        ('dm-7', 'ssd-pool', 'tpool'), ('dm-8', 'ssd-pool_tdata', ''),
        ('dm-9', 'ssd-pool_tmeta', ''), ('dm-10', 'swap', '')))
"""Written by hand: what a snapshot, a thin pool and a host's own LV add."""


def place(volume, host='node1', lv_id=None):
    return activity.MeasuredVolume(volume, lv_id or volume, f'{host}@ssd#ssd')


def steady(seconds, write_pct=25, block_kib=8, iops=1000, latency_us=2000):
    """The counters of a volume that has been doing this for so long."""
    requests = iops * seconds
    writes = requests * write_pct / 100
    size = block_kib * 1024
    return Counters(
        requests - writes, writes, (requests - writes) * size,
        writes * size, (requests - writes) * latency_us / 1e6,
        writes * latency_us / 1e6)


def text(volumes, booted=1_000.0, clock=None):
    """An exposition: LV id → its counters."""
    lines = [f'{exporter.BOOTED} {booted!r}']
    if clock is not None:
        lines.append(f'{exporter.CLOCK} {clock!r}')
    for nth, (lv_id, counters) in enumerate(volumes.items()):
        lines.append(f'{exporter.INFO}{{device="dm-{nth}",lv_layer="",'
                     f'lv_name="volume-{lv_id}",vg_name="vga"}} 1')
        lines.extend(f'{name}{{device="dm-{nth}"}} {value!r}' for name, value
                     in zip(exporter.COUNTERS, counters))
    return '\n'.join(lines) + '\n'


@contextlib.contextmanager
def serving(answer):
    """A URL where answer(method, path, headers, body) is served.

    It returns (status, text); a status of 0 hangs up without a word.
    """
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = self.rfile.read(int(self.headers['Content-Length'] or 0))
            status, said = answer(self.command, self.path, self.headers,
                                  body)
            if status:
                self.send_response(status)
                self.end_headers()
                self.wfile.write(said.encode())

        do_POST = do_GET

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f'http://127.0.0.1:{server.server_port}'
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
