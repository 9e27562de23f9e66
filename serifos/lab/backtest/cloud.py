# SPDX-License-Identifier: Apache-2.0
"""Cinder, Nova and telemetry of a simulated world.

The same ports as those of the real ones. All volumes are in use by servers
that are active, so Nova refuses no copy, and all migrations succeed; the old
copy is gone when it is wiped.
"""

from __future__ import annotations

import collections
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
from typing import NoReturn

import numpy as np

from serifos.balancer.recovery import diagnosis
from serifos import errors
from serifos.facts import activity
from serifos.facts.activity import Telemetry
from serifos.facts import cinder_errors
from serifos.facts.history import Series
from serifos.facts.inventory import Inventory
from serifos.facts.inventory import PoolStats
from serifos.facts.inventory import Record
from serifos.facts.inventory import Service
from serifos.facts.inventory import Type
from serifos.facts import names
from serifos.facts.servers import Action
from serifos.facts.servers import Attachment
from serifos.facts.servers import ComputeService
from serifos.facts.servers import Doings
from serifos.facts.servers import Server
from serifos.facts.servers import Servers
from serifos.facts.workload import Workload
from serifos.lab.backtest.rates import COLUMNS
from serifos.lab.backtest.rates import Floats
from serifos.lab.backtest.rates import Ints
from serifos.lab.backtest.world import ABSENT
from serifos.lab.backtest.world import Stretch
from serifos.lab.backtest.world import World

TYPE = 'backtest'
"""The volume type of all volumes."""

_COPY_OF = 'copy-of-'
_HOST = 'compute1'
_COPY = Workload(100.0, 128.0, 8.0, 0.0, iops=800.0, latency_us=1000.0)
_IDLE = Workload(0.0, 4.0, 0.0, iops=0.0, latency_us=0.0)
_SECONDS = len(COLUMNS)


def server_of(volume: str) -> str:
    """The server that a volume in use is attached to."""
    return f'server-of-{volume}'


def attachment(volume: str, status: str = 'attached',
               copy: str | None = None) -> Attachment:
    """That of a volume to its server, or that of its copy."""
    name = copy or volume
    return Attachment(f'attachment-of-{name}', name, status,
                      server_of(volume))


class SimulatedNova:
    """Nova's part, as :class:`.servers.Compute` says.

    :param volumes: those that are in use
    """

    def __init__(self, volumes: Iterable[str] = ()) -> None:
        self._services = {_HOST: ComputeService(_HOST)}
        self._known = Servers({
            name: Server(name, name, 'ACTIVE', 'active', host=_HOST)
            for name in map(server_of, volumes)}, self._services)

    def servers(self) -> Servers:
        return self._known

    def server(self, server_id: str) -> Servers:
        found = self._known.by_id.get(server_id)
        return Servers({} if found is None else {server_id: found},
                       self._services)

    def doings(self, server_id: str, volume_id: str,
               since: float) -> Doings:
        """A copy: nobody asks but of one that was requested."""
        return Doings((Action(diagnosis.SWAP, since),),
                      attachment(volume_id).id)


class SimulatedCinder:
    """Cinder's part, as :class:`.inventory.Cloud` says.

    :param slo_us: of the type of all volumes, or None
    """

    def __init__(self, world: World,
                 slo_us: float | None = None) -> None:
        self._world = world
        self._types = (Type(TYPE, {} if slo_us is None else {
            names.SLO: f'{slo_us:g}'}),)
        self._number = {volume: i for i, volume
                        in enumerate(world.demand.volumes)}
        self._records: dict[int, Record] = {}
        world.changed = self._write
        for volume in np.flatnonzero(world.home != ABSENT).tolist():
            self._write(volume)

    def inventory(self) -> Inventory:
        world = self._world
        return Inventory(
            tuple(PoolStats(
                pool.name, pool.total_gib, world.free_gib(i),
                pool.backend_name, pool.model, pool.device,
                used_gib=pool.total_gib - world.free_gib(i))
                for i, pool in enumerate(world.pools)),
            tuple(Service('cinder-volume', host, zone, backend_up=True,
                          updated_at=world.now) for host, zone in {
                              names.backend(pool.name): pool.zone
                              for pool in world.pools}.items()),
            (*self._records.values(), *map(
                self._half, (*world.copies, *world.wipes))),
            self._types)

    def under_way(self) -> Inventory:
        return self.inventory()

    def volume(self, volume_id: str) -> Record | None:
        return self._records.get(self._number.get(volume_id, -1))

    def snapshots_of(self, volume_id: str) -> int:
        return 0

    def volume_type(self, name: str) -> Type | None:
        return next((kind for kind in self._types if kind.name == name), None)

    def halves(self, volume_id: str) -> tuple[Record, ...]:
        number = self._number.get(volume_id)
        return (self._half(number),) if (
            number in self._world.copies or number in self._world.wipes
        ) else ()

    def attachments_of(self, volume_id: str) -> tuple[Attachment, ...]:
        if volume_id in self._number:
            return (attachment(volume_id),)
        copied = volume_id.removeprefix(_COPY_OF)
        return (attachment(copied, 'attaching', volume_id),) if (
            self._number.get(copied) in self._world.copies) else ()

    def logical_volumes(self, pool: str) -> frozenset[str] | None:
        return None

    def migrate(self, volume_id: str, pool: str) -> None:
        world, number = self._world, self._number.get(volume_id, -1)
        target = world.number.get(pool)
        if number not in self._records or target is None or (
                number in world.copies or number in world.wipes
                or world.home[number] == target
                or world.free_gib(target) < world.size_gib[number]):
            raise cinder_errors.Refused(
                f'Cinder refuses: volume {volume_id} cannot go to {pool}.')
        world.migrate(number, target)
        self._write(number)

    def _refuse(self, *asked: object) -> NoReturn:
        """What only recovery asks for; no migration fails here."""
        raise errors.CloudError('A simulated Cinder only migrates.')

    complete = reset = delete_attachment = relabel = delete = unmanage = (
        _refuse)

    def _write(self, number: int) -> None:
        """The record of a volume, as it is now."""
        world, home = self._world, int(self._world.home[number])
        if home == ABSENT:
            self._records.pop(number, None)
            return
        was = self._records.get(number)
        under_way = number in world.copies
        moved = was is not None and was.migration_status is not None
        self._records[number] = Record(
            world.demand.volumes[number], float(world.size_gib[number]),
            'in-use', world.pools[home].name, volume_type=TYPE,
            attachments=(server_of(world.demand.volumes[number]),),
            migration_status='migrating' if under_way
            else 'success' if moved else None, updated_at=world.now)

    def _half(self, number: int) -> Record:
        """The hidden record of a copy, or of one that is wiped."""
        world, volume = self._world, self._world.demand.volumes[number]
        copy = world.copies.get(number) or world.wipes[number]
        found = Record(
            _COPY_OF + volume, float(world.size_gib[number]),
            'attaching', world.pools[copy.target].name, volume_type=TYPE,
            migration_status=f'target:{volume}', updated_at=copy.began)
        if number in world.copies:
            return found
        return dataclasses.replace(
            found, status='deleting', migration_status='deleting',
            description=f'migration src for {volume}')


class SimulatedTelemetry(Telemetry):
    """What volumes did, as counters on their hosts would tell.

    A window begins at the end of a slot. What a volume did on a pool that it
    has left does not count in a window, as with the counters of logical
    volumes; its history goes with it.

    :param keep_s: the longest window, and the longest history
    """

    def __init__(self, keep_s: float) -> None:
        self._keep_s = keep_s
        self._sums: Floats | None = None
        self._kept: collections.deque[tuple[float, Floats]] = (
            collections.deque())
        self._since: Floats | None = None
        self._home: Ints | None = None
        self.world: World | None = None

    def take(self, done: Stretch) -> None:
        """Counts a stretch of time."""
        if self._sums is None:
            self._sums = np.zeros((len(done.home), _SECONDS + 1))
            self._kept.append((done.begin, self._sums.copy()))
            self._home, self._since = done.home, self._sums.copy()
        moved = done.home != self._home
        self._since[moved] = self._sums[moved]
        self._home = done.home
        self._sums += _amounts(done)
        if done.end - self._kept[-1][0] >= self.world.demand.step_s - 1e-3:
            self._kept.append((done.end, self._sums.copy()))
            while (len(self._kept) > 2
                   and done.end - self._kept[1][0] >= self._keep_s):
                self._kept.popleft()

    def observe(self, places: Sequence[activity.MeasuredVolume],
                window_s: float, pools: Collection[str] = ()
                ) -> activity.Observed:
        now = self.world.so_far()
        own = _amounts(now)
        left = own
        if self._sums is not None:
            begin = self.world.now - window_s + 1e-3
            had = next((had for at, had in reversed(self._kept)
                        if at <= begin), self._kept[0][1])
            left = own + np.where(
                (now.home == self._home)[:, None],
                self._sums - np.maximum(had, self._since), 0.0)
        seconds = left[:, _SECONDS]
        means = (left / np.maximum(seconds, 1e-9)[:, None]).tolist()
        does, missing = {}, {}
        number = {volume: i for i, volume
                  in enumerate(self.world.demand.volumes)}
        for place in places:
            which = number.get(place.volume)
            if which is None:
                does[place.volume] = _activity(_COPY, window_s)
            elif seconds[which] < 1:
                missing[place.volume] = 'It has only just been there.'
            else:
                does[place.volume] = _activity(
                    _workload(means[which]), float(seconds[which]))
        return activity.Observed(self.world.now, does, {}, missing, {})

    def read(self, places: Sequence[activity.MeasuredVolume], begin: float,
             end: float, step_s: int) -> Series:
        """As :meth:`.facts.activity.History.read`, up to the last slot's end.

        What a volume did in a slot is spread evenly over it.
        """
        found = Series.empty([place.volume for place in places], begin,
                             end, step_s)
        if len(self._kept) < 2:
            return found
        edges = np.clip([*found.begins, found.end],
                        self._kept[0][0], self._kept[-1][0])
        number = {volume: i for i, volume
                  in enumerate(self.world.demand.volumes)}
        column, row = np.array(
            [(i, number[volume]) for i, volume in enumerate(found.volumes)
             if volume in number], np.intp).reshape(-1, 2).T
        sums = self._at(edges)[:, row]
        found.sums[:, :, column] = np.moveaxis(_sums(
            np.maximum(0.0, np.diff(sums, axis=0))), -1, 0)
        return found

    def _at(self, times: Floats) -> Floats:
        """float[times, volumes, columns and seconds]: the sums until then."""
        ends = np.array([at for at, _ in self._kept])
        after = np.clip(np.searchsorted(ends, times), 1, len(ends) - 1)
        share = (times - ends[after - 1]) / (ends[after] - ends[after - 1])
        return np.array([
            (1 - part) * self._kept[i - 1][1] + part * self._kept[i][1]
            for i, part in zip(after.tolist(), share)])


def _sums(amounts: Floats) -> Floats:
    """float[..., figures], of :data:`.facts.history.FIGURES`.

    Bytes and seconds of reads and writes are their shares of all requests.
    """
    reads, writes, kib, _, outstanding, seconds = np.moveaxis(amounts, -1, 0)
    write = writes / np.maximum(reads + writes, 1e-12)
    return np.stack([
        seconds, reads, writes, 1024 * kib * (1 - write), 1024 * kib * write,
        outstanding * (1 - write), outstanding * write], axis=-1)


def _amounts(done: Stretch) -> Floats:
    """float[volumes, columns and seconds] of a stretch."""
    return done.seconds * np.column_stack([
        done.rates, done.home != ABSENT])


def _activity(mean: Workload, seconds: float) -> activity.Activity:
    return activity.Activity(mean, seconds, 10, 0.0, 0.0)


def _workload(rates: Sequence[float]) -> Workload:
    """The workload of rates, none of them below 0 by rounding."""
    reads, writes, kib, random, q, _ = (max(0.0, each) for each in rates)
    iops = reads + writes
    if iops < 1e-9:
        return _IDLE
    return Workload(
        100 * writes / iops, kib / iops,
        random_pct=min(100.0, 100 * random / iops), iops=iops,
        latency_us=1e6 * q / iops)
