# SPDX-License-Identifier: Apache-2.0
"""Make the example of etc/serifos/examples: four models and a cluster.

    python -m tools.bench.example

Four simulated devices are measured and fitted as real ones would be, and
each pool then runs its volumes on its device, so that measured latencies owe
nothing to the models. It takes two minutes.
"""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import tempfile
from typing import Any
import uuid

import numpy as np

from serifos.facts.cluster import CLUSTER_SCHEMA
from serifos.facts.refusals import Code
from serifos.facts.workload import Workload
from serifos.lab.sim.device import SimulatedDevice
from serifos.lab.sim import devices

OUT = pathlib.Path(__file__).parents[2] / 'etc/serifos/examples'

DEVICES = {'sata-a': devices.SSD1, 'sata-b': devices.SSD2,
           'nvme-a': devices.FAST, 'nvme-b': devices.PARALLEL}

POOLS = {'stor1': ('sata-a', 894), 'stor2': ('sata-a', 894),
         'stor3': ('sata-b', 745), 'stor4': ('sata-b', 745),
         'stor5': ('nvme-b', 1788), 'stor6': ('nvme-b', 1788),
         'stor7': ('nvme-a', 1788), 'stor8': ('nvme-a', 1788)}
"""Host → its model and GiB."""

SLO_US = {'gold': 2000}

STAYS = {'snapshots': Code.SNAPSHOTS.of(snapshots='2 snapshots hold'),
         'multiattach': Code.MULTIATTACH_IN_USE.of(),
         'encrypted': Code.ENCRYPTED_IN_USE.of(),
         'pinned': Code.PINNED.of(key='serifos:pin')}

VOLUMES = """
shop-db      stor1 200 gold   shop      shop-db-1    30  16   4
shop-search  stor1  80 silver shop      shop-search  10  16   2
shop-images  stor1 200 silver shop      web-1        10  32 1.5 snapshots
shop-shared  stor1 150 silver shop      web-1,api-1  20  16 1.5 multiattach
reports-etl  stor1  90 silver analytics etl-1        55 128  12
mail-store   stor2 180 gold   office    mail-1       40   8   2
mail-archive stor2 120 silver office    mail-2       20  16 1.5 encrypted
license-db   stor2  20 silver office    license-1    20   8 1.5 pinned
ci-runner    stor2  60 silver build     ci-2          -   -   - unknown
backup-stage stor2 100 silver ops       backup-1     90 128   8
crm-db       stor3 100 gold   crm       crm-db-1     35  16   5
crm-files    stor3 120 silver crm       crm-app-1    30  32   3
payroll-db   stor3  60 gold   office    payroll-1    40  16   3
ci-cache     stor4 100 silver build     ci-1         60  32   3
ci-registry  stor4 160 silver build     registry-1   25  32   2
wiki-db      stor4  40 silver office    wiki-1       30   8   3
metrics-tsdb stor5 200 silver ops       prometheus-1 80  16   8
logs-hot     stor5 300 silver ops       logs-1       75  32   6
logs-index   stor5 120 silver ops       logs-1       40  16   8
sessions     stor6  40 gold   shop      redis-1      50   4   6
queue        stor6  40 silver shop      rabbit-1     60   8   6
home-dirs    stor6 240 silver office    files-1      45  32   8
lake-raw     stor7 600 silver analytics spark-1      20  64   3
lake-columns stor7 400 silver analytics spark-2      10  64   2
vdi-base     stor8 200 silver office    vdi-1        15  16  10
vdi-users    stor8 240 silver office    vdi-2        40  16   8
"""
"""Name, host, GiB, type, project, servers, write_pct, block_kib, requests
outstanding, and why it stays."""


def main() -> None:
    models()
    (OUT / 'cluster.json').write_text(cluster())


def models() -> None:
    """Measures and fits each device, and writes its model."""
    with tempfile.TemporaryDirectory() as directory:
        for stem, ssd in DEVICES.items():
            data, fitted = (f'{directory}/{stem}.{end}'
                            for end in ('jsonl', 'json'))
            for arguments in (
                    ['serifos.lab.sim.main', 'dataset', ssd.name, data],
                    ['serifos.cmd.model', 'fit', data, '--out', fitted]):
                subprocess.run([sys.executable, '-m', *arguments], check=True,
                               stdout=subprocess.DEVNULL)
            model = json.loads(pathlib.Path(fitted).read_text())
            (OUT / f'models/{stem}.json').write_text(in_lines(model))


def cluster() -> str:
    """The document of all pools and volumes, each in a line."""
    rows = [line.split() for line in VOLUMES.strip().splitlines()]
    rng = np.random.default_rng(7)
    volumes = [volume for host, (model, _) in POOLS.items()
               for volume in measured(SimulatedDevice(
                   DEVICES[model], rng, ios=30000),
                   [row for row in rows if row[1] == host])]
    return in_lines({'schema': CLUSTER_SCHEMA, 'pools': [
        {'name': pool(host), 'model': model, 'total_gib': gib,
         'free_gib': gib - sum(volume['size_gib'] for volume in volumes
                               if volume['pool'] == pool(host)),
         'zone': 'nova', 'backend_name': 'lvm', 'state': 'up'}
        for host, (model, gib) in POOLS.items()], 'volumes': volumes})


def measured(device: SimulatedDevice,
             rows: list[list[str]]) -> list[dict[str, Any]]:
    """The volumes of one pool, as they see its device together."""
    asked = {row[0]: Workload(*map(float, row[6:9])) for row in rows
             if row[6] != '-'}
    seen = dict(zip(asked, device.measure([*asked.values()], 60.0).seen))
    return [_volume(row, asked.get(row[0]), seen.get(row[0]))
            for row in rows]


def _volume(row: list[str], asked: Workload | None,
            seen: Any) -> dict[str, Any]:
    name, host, gib, kind, project, servers, _, _, _, *why = row
    stays = STAYS.get(why[0]) if why else None
    return {
        'id': str(uuid.uuid5(uuid.NAMESPACE_DNS, name)), 'name': name,
        'pool': pool(host), 'size_gib': int(gib), 'volume_type': kind,
        **({'max_latency_us': SLO_US[kind]} if kind in SLO_US else {}),
        'movable': stays or True,
        **({'movable_code': stays.code} if stays else {}),
        'attached': True, 'project_id': project,
        'server': servers.replace(',', ', '),
        'workload': asked and {
            'write_pct': asked.write_pct, 'block_kib': asked.block_kib,
            'iodepth': asked.iodepth, 'iops': round(seen['iops']),
            'latency_us': round(seen['latency_us'])}}


def pool(host: str) -> str:
    return f'{host}@lvm#lvm'


def in_lines(document: dict[str, Any]) -> str:
    """JSON with a line for each key, and for each item of long lists."""
    lines = []
    for key, value in document.items():
        text = json.dumps(value)
        if isinstance(value, list) and len(text) > 200:
            text = '[\n  {}]'.format(',\n  '.join(map(json.dumps, value)))
        lines.append(f'{json.dumps(key)}: {text}')
    return '{{{}}}\n'.format(',\n '.join(lines))


if __name__ == '__main__':
    main()
