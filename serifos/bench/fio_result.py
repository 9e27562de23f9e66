# SPDX-License-Identifier: Apache-2.0
"""The figures of a run, from fio's JSON output."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import os
from typing import Any

from serifos import errors
from serifos.facts.dataset import Sample
from serifos.facts import distribution
from serifos.facts import fields
from serifos.facts import strict_json
from serifos.facts.workload import Workload

_MOST_ERRNO = 4095
_APART_S = 1.0      # what processes may end apart, seconds,
_APART_SHARE = 0.1  # or this share of the runtime

Figures = Mapping[str, Any]


class FioError(errors.ToolError):
    """fio failed, hung or printed no valid result; one run is lost."""


def parse(text: str) -> dict[str, Any]:
    """The figures of one fio process, by the names of the dataset.

    Beside them ``requests`` and ``ended_ms``, which :func:`sample` takes.

    :raises FioError: where the text is not a result of fio
    """
    doc, job = _job(text)
    return {**figures(job), 'ended_ms': doc['timestamp_ms'].number()}


def figures(job: fields.Field, tails: bool = True) -> dict[str, Any]:
    """The figures of one job, by the names of the dataset, and ``requests``.

    :param tails: whether it must have its 99th percentiles
    :raises FioError: where it failed, or made no request
    """
    error = job['error'].whole(-_MOST_ERRNO, _MOST_ERRNO)
    if error:
        raise FioError(f'fio failed: {os.strerror(abs(error))}')
    read, write = job['read'], job['write']
    requests = _requests(read) + _requests(write)
    if not requests:
        raise FioError('fio finished no request in the whole run')
    return {
        'latency_us': sum(_mean_us(side) * _requests(side)
                          for side in (read, write)) / requests,
        **_side('read', read, tails), **_side('write', write, tails),
        'iops': read['iops'].number() + write['iops'].number(),
        'requests': requests}


def _job(text: str) -> tuple[fields.Field, fields.Field]:
    """fio's JSON document, which notes may surround, and its one job."""
    if '{' not in text:
        raise FioError('fio printed no result: '
                       f'{" ".join(text.split())[:200] or "nothing at all"}')
    doc = strict_json.within(text, 'jobs', 'fio', FioError)
    jobs = doc['jobs'].items(1)
    if len(jobs) > 1:
        raise doc['jobs'].wrong('one job')
    return doc, jobs[0]


def written(text: str) -> int:
    """The bytes that one fio process wrote.

    :raises FioError: where the text is not a result of fio
    """
    return _job(text)[1]['write']['io_bytes'].whole()


def _side(name: str, side: fields.Field, tails: bool) -> dict[str, Any]:
    some = _requests(side) > 0
    percentiles = side['lat_ns']['percentile']
    p99 = percentiles['99.000000'] if some and (
        tails or '99.000000' in (percentiles.value or ())) else None
    times = distribution.of_bins(side['lat_ns']['bins']) if some else None
    return {
        f'{name}_latency_us': _mean_us(side) if some else None,
        f'{name}_p99_us': p99.number() / 1000 if p99 else None,
        f'{name}_iops': side['iops'].number(),
        f'{name}_bw_kib_s': side['bw'].number(),
        **({distribution.NAMES[name]: times.to_json()} if times else {})}


def _requests(side: fields.Field) -> int:
    return side['lat_ns']['N'].whole()


def _mean_us(side: fields.Field) -> float:
    return side['lat_ns']['mean'].number() / 1000


def sample(workloads: Sequence[Workload], runtime_s: float,
           seen: Sequence[Figures]) -> Sample:
    """A run from what each of its workloads saw.

    The run's latency is the mean over the workloads, each tenant once; that
    of a request is the mean over all requests of all workloads.

    :raises FioError: where the workloads did not run at the same time
    """
    ends = [one['ended_ms'] for one in seen]
    apart = (max(ends) - min(ends)) / 1000
    if apart > max(_APART_S, _APART_SHARE * runtime_s):
        raise FioError(
            f'the workloads ended {apart:.1f} s apart, so that they did not '
            'run together; the machine may be too busy')
    requests = [one['requests'] for one in seen]
    return Sample(
        tuple(workloads),
        latency_us=sum(one['latency_us'] for one in seen) / len(seen),
        request_latency_us=sum(
            one['latency_us'] * n for one, n in zip(seen, requests)
        ) / sum(requests),
        seen=tuple({name: value for name, value in one.items()
                    if name not in ('requests', 'ended_ms')}
                   for one in seen))
