# SPDX-License-Identifier: Apache-2.0
"""Section ``plans``: what plans of large clouds take in the database."""

from __future__ import annotations

from collections.abc import Iterator
import json
import pathlib
import random
import tempfile
import time
import uuid

import sqlalchemy

from serifos.database import connection
from serifos.database.plans import PLANS
from serifos.database.plans import Plans
from serifos.plan.plan import Change
from serifos.plan.plan import Move
from serifos.plan.plan import Plan
from serifos.plan.plan import Refusal

SIZES = ((40, 400), (200, 2_000), (1_000, 10_000), (1_000, 100_000))
"""Pools and volumes."""

NOW, TTL_S = 1_800_000_000.0, 86400.0
_STORED = 20


def made(pools: int, volumes: int, seed: int) -> Plan:
    """A move from every pool; all other volumes stay, each with a reason."""
    rng = random.Random(seed)
    ids = [str(uuid.UUID(int=rng.getrandbits(128))) for _ in range(volumes)]
    names = [f'stor{n:04}@ssd#ssd' for n in range(pools)]
    change = Change(rng.uniform(100, 9000), rng.uniform(100, 9000))

    def us() -> float:
        return rng.uniform(100, 9000)
    return Plan(
        'relieve', tuple(Move(
            volume, source, rng.choice(names), 60.0, us(), us(), us(), us(),
            f'{source} is hot: {us() / 1e3:.3g} ms, 3.1 ms in the mean',
            us(), us(), us()) for volume, source in zip(ids, names)),
        tuple(Refusal(volume, f'gain {rng.uniform(0, 10):.2g} % is below '
                      'min_gain 10 %') for volume in ids[pools:]),
        False, {name: Change(us(), us()) for name in names}, change,
        change, change).issued(f'p{seed}', NOW + seed, TTL_S)


def lines(quick: bool) -> Iterator[str]:
    """The table, a line at a time."""
    yield ('  pools  volumes  JSON, KiB  row, KiB  to store, ms  to read, ms'
           f'  to list {_STORED}, ms')
    for pools, volumes in SIZES[:2] if quick else SIZES:
        with tempfile.TemporaryDirectory(dir='/var/tmp') as directory:
            yield _line(pools, volumes, pathlib.Path(directory))


def _line(pools: int, volumes: int, directory: pathlib.Path) -> str:
    stored = Plans(connection.Database(
        f'sqlite:///{directory}/journal.sqlite'))
    plans = [made(pools, volumes, seed) for seed in range(_STORED)]
    begin = time.perf_counter()
    for plan in plans:
        stored.keep(plan, NOW + _STORED, print)
    kept_s = (time.perf_counter() - begin) / _STORED
    begin = time.perf_counter()
    assert stored.stored(plans[0].id) == plans[0]
    read_s = time.perf_counter() - begin
    begin = time.perf_counter()
    assert len(stored.listed()) == _STORED
    list_s = time.perf_counter() - begin
    row = stored.database.run(lambda asked: asked.scalar(sqlalchemy.select(
        sqlalchemy.func.avg(sqlalchemy.func.length(PLANS.c.document)))))
    size = len(json.dumps(plans[0].to_json(), indent=1))
    return (f'{pools:7,}  {volumes:7,}  {size / 1024:9,.0f}  '
            f'{row / 1024:8,.0f}  {1e3 * kept_s:12,.0f}  '
            f'{1e3 * read_s:11,.0f}  {1e3 * list_s:14,.0f}')
