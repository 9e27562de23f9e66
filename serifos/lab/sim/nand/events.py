# SPDX-License-Identifier: Apache-2.0
"""Discrete-event simulation of the requests of a flash device.

The host keeps each workload's ``iodepth`` requests outstanding; where its
threads take time, each serves one volume's in turn. The device takes at most
``queue`` of them, the oldest first. A command costs time of the controller,
then a read goes page by page to its dies, over their channels and over the
link. A write passes the link into the buffer and has finished there; full
pages leave the buffer for the dies. A die serves reads before programs, but
not for ever, and collects garbage after programs.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator
from collections.abc import Sequence
import heapq
import math
from typing import Any
from typing import TYPE_CHECKING

import numpy as np

from serifos.facts.workload import Workload
from serifos.lab.sim import events
from serifos.lab.sim.nand import dies

if TYPE_CHECKING:
    from serifos.lab.sim.nand import nand

_BLOCK = 4096


def requests(device: nand.Nand, workloads: Sequence[Workload],
             rng: np.random.Generator, erratic: bool, queued: Sequence[int]
             ) -> Iterator[tuple[float, events.Done]]:
    """The requests of a device, as :data:`.sim.events.Requests` says."""
    return iter(_Simulation(device, workloads, rng, erratic, queued))


class _Simulation:
    """The state of a device between two events."""

    def __init__(self, device: nand.Nand, workloads: Sequence[Workload],
                 rng: np.random.Generator, erratic: bool,
                 queued: Sequence[int]) -> None:
        self._nand, self._workloads = device, workloads
        self._threads = events.Threads(device, workloads)
        self._rng, self._erratic = rng, erratic
        self._pace = events.lognormal(rng, device.run_cv, 1).item()
        self._noise = _chances(lambda: events.lognormal(
            rng, device.noise_cv, _BLOCK).tolist())
        self._uniform = _chances(lambda: rng.random(_BLOCK).tolist())
        self._dies = [dies.Die(i % device.channels)
                      for i in range(device.dies)]
        self._channel = [0.0] * device.channels
        self._link = [0.0, 0.0]
        self._controller = 0.0
        self._events: list[tuple[float, int, Any, tuple[Any, ...]]] = []
        self._number = 0
        self._host: collections.deque[tuple[float, int]] = (
            collections.deque())
        self._inside = 0
        self._room = device.buffer_kib
        self._waiting: collections.deque[tuple[int, float]] = (
            collections.deque())
        self._gathered, self._next_die = 0.0, 0
        self._done: list[events.Done] = []
        self._pages = [self._pages_of(w) for w in workloads]
        for die, share in zip(self._dies, rng.random(device.dies).tolist()):
            die.worn = share * device.block_pages * (1 - device.valid)
        for who in queued:
            self._at(erratic * self._thinks(who), self._issue, who)

    def __iter__(self) -> Iterator[tuple[float, events.Done]]:
        while True:
            now, _, function, given = heapq.heappop(self._events)
            function(now, *given)
            if self._done:
                yield from ((now, one) for one in self._done)
                self._done.clear()

    def _at(self, when: float, function: Any, *given: Any) -> None:
        self._number += 1
        heapq.heappush(self._events, (when, self._number, function, given))

    def _thinks(self, who: int) -> float:
        think = self._workloads[who].think_time_us
        return think * self._rng.exponential() if (
            think and self._erratic) else think

    def _issue(self, now: float, who: int) -> None:
        if self._threads.costs_us[who]:
            self._at(self._threads.served(now, who), self._enter, now, who)
        else:
            self._enter(now, now, who)

    def _enter(self, now: float, issued: float, who: int) -> None:
        if self._nand.queue and self._inside >= self._nand.queue:
            self._host.append((issued, who))
        else:
            self._inside += 1
            self._take(now, issued, who)

    def _take(self, now: float, issued: float, who: int) -> None:
        w, pace = self._workloads[who], self._pace
        self._controller = (max(now, self._controller)
                            + pace * self._nand.command_us)
        if next(self._uniform) < w.write_pct / 100:
            self._at(self._controller, self._receive, issued, who)
        else:
            self._at(self._controller, self._read, issued, who)

    def _transfer(self, now: float, write: bool, kib: float) -> float:
        way = 0 if self._nand.half_duplex else int(write)
        self._link[way] = (max(now, self._link[way])
                           + self._pace * kib * self._nand.link_us_per_kib)
        return self._link[way]

    def _end(self, now: float, issued: float, who: int, write: bool) -> None:
        self._done.append((who, write, now - issued))
        self._at(now + self._thinks(who), self._issue, who)
        if self._host:
            self._take(now, *self._host.popleft())
        else:
            self._inside -= 1

    def _pages_of(self, w: Workload) -> tuple[int, float, float]:
        """The pages of a request, KiB of each, and the share of hits."""
        page = self._nand.page_kib
        pages = max(1, math.ceil(w.block_kib / page))
        return pages, w.block_kib / pages, (
            1 - w.random_pct / 100) * self._nand.readahead

    # Reads.

    def _read(self, now: float, issued: float, who: int) -> None:
        pages, kib, hits = self._pages[who]
        left = [pages, issued, who, kib]
        if hits and next(self._uniform) < hits:
            self._at(now, self._send, left)
            return
        first = int(next(self._uniform) * len(self._dies))
        for page in range(pages):
            die = self._dies[(first + page) % len(self._dies)]
            die.reads.append(left)
            if die.busy is None:
                self._start(now, die)
            elif (die.busy != dies.READ and self._nand.suspend_us
                  and die.paused is None
                  and die.until - now > self._nand.suspend_us):
                die.paused = (die.busy, die.until - now)
                die.busy = None
                self._start(now + self._nand.suspend_us, die)

    def _send(self, now: float, left: list[Any]) -> None:
        _, issued, who, _ = left
        end = self._transfer(now, False, self._workloads[who].block_kib)
        self._at(end, self._end, issued, who, False)

    # Writes.

    def _receive(self, now: float, issued: float, who: int) -> None:
        end = self._transfer(now, True, self._workloads[who].block_kib)
        self._at(end + self._nand.write_us * self._pace, self._store,
                 issued, who)

    def _store(self, now: float, issued: float, who: int) -> None:
        self._waiting.append((who, issued))
        self._admit(now)

    def _admit(self, now: float) -> None:
        while self._waiting:
            who, issued = self._waiting[0]
            w, page = self._workloads[who], self._nand.page_kib
            kib = w.block_kib
            if not self._nand.gathers:
                kib = math.ceil(kib / page) * page
            # A page that is not full yet stays, so a buffer is never empty.
            if self._room < min(kib, self._nand.buffer_kib / 2):
                return
            self._waiting.popleft()
            self._room -= kib
            self._gathered += kib
            while self._gathered >= page:
                self._gathered -= page
                self._next_die = (self._next_die + 1) % len(self._dies)
                die = self._dies[self._next_die]
                die.programs += 1
                die.worn += w.random_pct / 100
                if die.busy is None:
                    self._start(now, die)
            self._at(now, self._end, issued, who, True)

    # Dies.

    def _start(self, now: float, die: dies.Die) -> None:
        device, what = self._nand, die.chooses(self._nand)
        if what == dies.READ:
            self._run(now, die, what, self._pace * device.read_us
                      * next(self._noise), die.reads.popleft())
        elif what == dies.PROGRAM:
            die.programs -= 1
            self._run(now, die, what, self._pace * device.program_us
                      * next(self._noise), None)
        elif what == dies.COLLECT:
            self._run(now, die, what, die.debt.popleft(), None)
        elif die.paused:
            what, left = die.paused
            die.paused = None
            self._run(now, die, what, left, None)

    def _run(self, now: float, die: dies.Die, what: int, us: float,
             request: Any) -> None:
        die.busy, die.until = what, now + us
        self._at(die.until, self._finish, die, what, die.until, request)

    def _finish(self, now: float, die: dies.Die, what: int, until: float,
                request: Any) -> None:
        if what == dies.READ:
            die.busy = None
            kib = request[3]
            free = max(now, self._channel[die.channel]) + (
                self._pace * kib * self._nand.channel_us_per_kib)
            self._channel[die.channel] = free
            request[0] -= 1
            if not request[0]:
                self._at(free, self._send, request)
            self._start(now, die)
            return
        if die.busy != what or die.until != until:
            return  # it was suspended
        die.busy = None
        if what == dies.PROGRAM:
            die.programmed(self._nand, self._pace)
        self._start(now, die)
        if what == dies.PROGRAM:
            self._room += self._nand.page_kib
            self._admit(now)


def _chances(more: Any) -> Iterator[float]:
    while True:
        yield from more()
