#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make the example a cloud of now: python3 now.py DIRECTORY

Writes DIRECTORY/serifos.conf and what it names: the models, the observation
of cluster.json as if made now, and the day before it, in which every volume
did a seventh less at the quietest hour. All verbs work with it that ask no
Cinder, such as

    serifos-balancer --config-file DIRECTORY/serifos.conf plan
"""

from __future__ import annotations

import dataclasses
import json
import math
import pathlib
import shutil
import sys
import time

from serifos.balancer import planning
from serifos.cmd.balancer import configuration
from serifos.cmd.balancer import stored_history
from serifos import conf
from serifos.facts.cluster import Cluster
from serifos.facts.history import Series
from serifos.facts import times
from serifos.files import documents

EXAMPLES = pathlib.Path(__file__).parent
DAY_S, STEP_S, ROUND_S = 86400, 60, 900


def busy(before_s: float) -> float:
    """The part of its present load that the cloud had, so long ago."""
    return (13 + math.cos(2 * math.pi * before_s / DAY_S)) / 14


def main(directory: pathlib.Path) -> None:
    """Writes the cloud to a directory."""
    now = int(time.time())
    directory.mkdir(parents=True, exist_ok=True)
    for name in 'history.sqlite', 'journal.sqlite':
        (directory / name).unlink(missing_ok=True)
    shutil.copytree(EXAMPLES / 'models', directory / 'models',
                    dirs_exist_ok=True)
    document = json.loads((EXAMPLES / 'cluster.json').read_text())
    cluster = Cluster.from_json(
        {**document, 'observed_at': times.text(now)})
    documents.write_cluster(directory / 'cluster.json', cluster)
    file = directory / 'serifos.conf'
    file.write_text('[serifos]\n'
                    f'state_dir = {directory.absolute()}\n'
                    f'models_dir = {directory.absolute()}/models\n')
    settings = conf.load([str(file)])
    keep_volumes(settings, cluster, now)
    keep_pools(settings, cluster, now)


def keep_volumes(settings: conf.Options, cluster: Cluster, now: int) -> None:
    """Keeps what each volume did, minute by minute."""
    known = [volume for volume in cluster.volumes if volume.workload]
    past = Series.empty([volume.id for volume in known], now - DAY_S, now,
                        STEP_S)
    for slot, begin in enumerate(past.begins):
        for place, volume in enumerate(known):
            its, part = volume.workload, busy(now - begin)
            requests = STEP_S * its.iops * part
            writes = requests * its.write_pct / 100
            reads, kib = requests - writes, 1024 * its.block_kib
            took_s = its.latency_us * part / 1e6
            past.sums[:, slot, place] = (
                STEP_S, reads, writes, reads * kib, writes * kib,
                reads * took_s, writes * took_s)
    store = stored_history.store(settings)
    store.add(past, store.until())


def keep_pools(settings: conf.Options, cluster: Cluster, now: int) -> None:
    """Keeps what pools measured, as far off their models as at present."""
    limits = configuration.limits_of(settings)
    models = planning.read_models(cluster, EXAMPLES / 'models', print)
    kept = stored_history.accuracy(settings).kept
    present = planning.model_checks(cluster, limits, models)
    for before_s in range(DAY_S, 0, -ROUND_S):
        part = busy(before_s)
        then = dataclasses.replace(cluster, volumes=tuple(
            volume if volume.workload is None else dataclasses.replace(
                volume, workload=dataclasses.replace(
                    volume.workload, iops=volume.workload.iops * part ** 2,
                    iodepth=volume.workload.iodepth * part ** 2))
            for volume in cluster.volumes))
        kept.note({
            name: dataclasses.replace(
                check, seen_us=check.predicted_us * math.exp(
                    present[name].error), far=present[name].far)
            for name, check in planning.model_checks(
                then, limits, models).items()}, now - before_s)


if __name__ == '__main__':
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]))
    print(pathlib.Path(sys.argv[1], 'serifos.conf'))
