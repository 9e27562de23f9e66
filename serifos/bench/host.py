# SPDX-License-Identifier: Apache-2.0
"""CPU time, context switches and interrupts of the machine during a run.

Mesnier et al. [1]_ observe them beside throughput. The kernel counts them
since its start in ``/proc/stat``, see proc_stat(5); it is read ten times a
second, and the ends of the interval lie between readings.

.. [1] Mesnier, Wachs, Ganger: Modeling the relative fitness of storage
   devices, Table 2.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import functools
import itertools
import pathlib
import re
import threading
import time

from serifos import errors

STAT = pathlib.Path('/proc/stat')

_EVERY_S = 0.1
_COUNTED = 8   # user nice system idle iowait irq softirq steal; the guests'
_IDLE = (3, 4)  # time, which follows, is in user and nice already


@dataclasses.dataclass(frozen=True)
class HostCounters:
    """Counters since the machine's start.

    :param at_s: when they were read, seconds of the epoch
    :param busy: ticks of all CPUs in which they worked
    :param ticks: ticks of all CPUs
    """

    at_s: float
    busy: float
    ticks: float
    context_switches: float
    interrupts: float

    def towards(self, later: HostCounters, at_s: float) -> HostCounters:
        """The counters at a time, by linear interpolation."""
        span = later.at_s - self.at_s
        share = min(max((at_s - self.at_s) / span, 0.0), 1.0) if span else 1.0
        return HostCounters(*(a + share * (b - a) for a, b in zip(
            dataclasses.astuple(self), dataclasses.astuple(later))))


def parse(text: str, at_s: float) -> HostCounters:
    """The counters in a ``/proc/stat``.

    :raises ToolError: where one of them is missing
    """
    rows = {name: values.split() for name, _, values in (
        line.partition(' ') for line in text.splitlines())}
    try:
        ticks = [_count(value) for value in rows['cpu'][:_COUNTED]]
        idle = sum(ticks[i] for i in _IDLE)
        return HostCounters(at_s, sum(ticks) - idle, sum(ticks),
                            _count(rows['ctxt'][0]), _count(rows['intr'][0]))
    except (KeyError, IndexError, ValueError):
        raise errors.ToolError(
            f'{STAT} lacks counters of the machine; leave '
            '--observe-host out.') from None


def _count(text: str) -> int:
    if not re.fullmatch('[0-9]{1,20}', text):
        raise ValueError(text)
    return int(text)


def read() -> HostCounters:
    """:raises ToolError: where this machine has no such file"""
    try:
        return parse(STAT.read_text(encoding='ascii', errors='replace'),
                     time.time())
    except OSError as exc:
        raise errors.ToolError(
            f'{STAT} cannot be read ({exc.strerror}); leave --observe-host '
            'out.') from None


def between(readings: Sequence[HostCounters], began_s: float,
            ended_s: float) -> dict[str, float]:
    """The figures of an interval, by their names in the dataset.

    :param readings: two or more in the order of time, from before the
        interval to its end
    :raises ToolError: where they do not cover the interval
    """
    if (len(readings) < 2 or readings[0].at_s > began_s
            or readings[-1].at_s < ended_s - 2 * _EVERY_S):
        raise errors.ToolError(
            'the machine was not observed for as long as the run lasted')
    first, last = (_at(readings, at) for at in (began_s, ended_s))
    seconds = ended_s - began_s
    busy, ticks = last.busy - first.busy, last.ticks - first.ticks
    return {  # a kernel's idle and iowait may go back by a tick
        'cpu_pct': 100 * min(max(busy / ticks, 0.0), 1.0) if ticks else 0.0,
        'context_switches_per_s':
            (last.context_switches - first.context_switches) / seconds,
        'interrupts_per_s': (last.interrupts - first.interrupts) / seconds}


def _at(readings: Sequence[HostCounters], at_s: float) -> HostCounters:
    earlier, later = next(
        (pair for pair in itertools.pairwise(readings)
         if pair[1].at_s >= at_s), readings[-2:])
    return earlier.towards(later, at_s)


@contextlib.contextmanager
def watched() -> Iterator[Callable[[float, float], Mapping[str, float]]]:
    """The figures of an interval in a ``with`` block, complete at its end."""
    readings, over = [read()], threading.Event()

    def watch() -> None:
        with contextlib.suppress(errors.ToolError):  # the last one tells
            while not over.wait(_EVERY_S):
                readings.append(read())

    thread = threading.Thread(target=watch, name='host', daemon=True)
    thread.start()
    try:
        yield functools.partial(between, readings)
    finally:
        over.set()
        thread.join()
    readings.append(read())
