# SPDX-License-Identifier: Apache-2.0
"""Simulated flash devices, page by page.

The host keeps each workload's ``iodepth`` requests outstanding; where its
threads take time, each serves one volume's in turn. The device takes at most
``queue`` of them, the oldest first. A command costs time of the controller,
then a read goes page by page to its dies, over their channels and over the
link. A write passes the link into the buffer and has finished there; full
pages leave the buffer for the dies. A die serves reads before programs, but
not for ever.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import heapq
import math
from typing import Any

import numpy as np

from serifos import errors
from serifos.facts.workload import Workload
from serifos.lab.sim import ssd

READ, PROGRAM = range(2)
"""What a die does."""

_BLOCK = 4096


@dataclasses.dataclass(frozen=True)
class Nand:
    """A simulated flash device; planners and models never read it.

    :param queue: commands that it takes at once; 0 for any number
    :param command_us: the controller's time for a command
    :param half_duplex: whether reads and writes share one way of the link
    :param page_kib: what a die reads or programs at once, planes together
    :param gathers: whether small writes share a page
    :param turns: reads of a die that may pass a waiting program
    :param thread_us: time of a request in its volume's thread of the host,
        which serves one after another; 0 where none waits for it
    :param thread_us_per_kib: the same of each KiB
    """

    name: str
    channels: int
    dies: int
    page_kib: float
    read_us: float
    program_us: float
    channel_us_per_kib: float
    link_us_per_kib: float
    write_us: float
    buffer_kib: float
    half_duplex: bool = False
    queue: int = 0
    command_us: float = 1.0
    gathers: bool = True
    turns: int = 4
    readahead: float = 0.0
    noise_cv: float = 0.1
    run_cv: float = 0.012
    thread_us: float = 0.0
    thread_us_per_kib: float = 0.0

    def __post_init__(self) -> None:
        ssd.refuse_negative(self)
        if not (self.dies and self.channels and self.page_kib and self.turns
                and self.buffer_kib >= 2 * self.page_kib):
            raise errors.InputError(
                f'The simulated device {self.name} needs a die, a channel, '
                'a page, a turn of reads, and a buffer of two pages; give at '
                'least that.')
        if self.readahead > 1:
            raise errors.InputError(
                f'The simulated device {self.name} reads ahead more than is '
                'read; give a readahead of 1 at the most.')


class Die:
    """The requests that wait for a die.

    ``turn`` is how many reads it has served since the last program.
    """

    __slots__ = ('reads', 'programs', 'busy', 'turn', 'channel')

    def __init__(self, channel: int) -> None:
        self.reads: collections.deque[Any] = collections.deque()
        self.programs, self.turn, self.channel = 0, 0, channel
        self.busy = False

    def chooses(self, device: Nand) -> int | None:
        """What comes next, None for nothing.

        Reads before programs, but not for ever.
        """
        if self.reads and (self.turn < device.turns or not self.programs):
            self.turn += 1
            return READ
        if not self.programs:
            return None
        self.turn = 0
        return PROGRAM


def requests(device: Nand, workloads: Sequence[Workload],
             rng: np.random.Generator, erratic: bool, queued: Sequence[int]
             ) -> Iterator[tuple[float, ssd.Done]]:
    """The requests of a device, as :data:`.sim.ssd.Requests` says."""
    return iter(_Simulation(device, workloads, rng, erratic, queued))


class _Simulation:
    """The state of a device between two events."""

    def __init__(self, device: Nand, workloads: Sequence[Workload],
                 rng: np.random.Generator, erratic: bool,
                 queued: Sequence[int]) -> None:
        self._nand, self._workloads = device, workloads
        self._threads = ssd.Threads(
            device.thread_us, device.thread_us_per_kib, workloads)
        self._rng, self._erratic = rng, erratic
        self._pace = ssd.lognormal(rng, device.run_cv, 1).item()
        self._noise = _chances(lambda: ssd.lognormal(
            rng, device.noise_cv, _BLOCK).tolist())
        self._uniform = _chances(lambda: rng.random(_BLOCK).tolist())
        self._dies = [Die(i % device.channels)
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
        self._done: list[ssd.Done] = []
        self._pages = [self._pages_of(w) for w in workloads]
        rng.random(device.dies)  # as when the figures of papers.rst were made
        for who in queued:
            self._at(erratic * self._thinks(who), self._issue, who)

    def __iter__(self) -> Iterator[tuple[float, ssd.Done]]:
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
            if not die.busy:
                self._start(now, die)

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
                if not die.busy:
                    self._start(now, die)
            self._at(now, self._end, issued, who, True)

    # Dies.

    def _start(self, now: float, die: Die) -> None:
        device, what = self._nand, die.chooses(self._nand)
        if what == READ:
            self._run(now, die, device.read_us, self._sent,
                      die.reads.popleft())
        elif what == PROGRAM:
            die.programs -= 1
            self._run(now, die, device.program_us, self._programmed)

    def _run(self, now: float, die: Die, us: float, then: Any,
             *given: Any) -> None:
        die.busy = True
        self._at(now + self._pace * us * next(self._noise), then, die, *given)

    def _sent(self, now: float, die: Die, request: list[Any]) -> None:
        """A page was read: it goes over the channel."""
        die.busy = False
        free = max(now, self._channel[die.channel]) + (
            self._pace * request[3] * self._nand.channel_us_per_kib)
        self._channel[die.channel] = free
        request[0] -= 1
        if not request[0]:
            self._at(free, self._send, request)
        self._start(now, die)

    def _programmed(self, now: float, die: Die) -> None:
        """A page was programmed: the buffer has room again."""
        die.busy = False
        self._start(now, die)
        self._room += self._nand.page_kib
        self._admit(now)


def _chances(more: Any) -> Iterator[float]:
    while True:
        yield from more()
