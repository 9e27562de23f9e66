# SPDX-License-Identifier: Apache-2.0
"""A load that is distributed over several volumes, as one workload.

The workload distribution of [1]_: the requests of one machine are spread over
two and three, and the model of the one is held against what they see
together.

.. [1] Noorshams, Bruhn, Kounev, Reussner: Predictive Performance Modeling
   of Virtualized Storage Systems using Optimized Statistical Regression
   Techniques, section 6.2.
"""

from __future__ import annotations

import dataclasses
import statistics

from serifos import errors
from serifos.facts.dataset import Sample

_RATES = ('iops', 'read_iops', 'write_iops')
_TIMES = {'latency_us': 'iops', 'read_latency_us': 'read_iops',
          'write_latency_us': 'write_iops'}
"""Latency → the rate of the requests that it is the mean of."""


def as_one(sample: Sample) -> Sample:
    """A run as if its workloads were one of all their requests.

    Outstanding requests and rates are summed, latencies are means over all
    requests; 99th percentiles, which cannot be added up, are left out.

    :raises InputError: where workloads differ in more than their iodepth
    """
    first = sample.workloads[0]
    for workload in sample.workloads:
        if dataclasses.replace(
                workload, iodepth=first.iodepth).pattern != first.pattern:
            raise errors.InputError(
                f'A run of {sample.words} is not one workload on several '
                'volumes; leave out --test-as-one, or test on runs whose '
                'workloads differ only in their iodepth.')
    seen = sample.seen or ({},) * sample.count
    whole = {}
    for name in _RATES:
        rates = [saw.get(name) for saw in seen]
        if None not in rates:
            whole[name] = sum(rates)
    for name, rate in _TIMES.items():
        known = [saw for saw in seen if saw.get(name)]
        if known:
            weights = [saw.get(rate) for saw in known]
            whole[name] = statistics.fmean(
                (saw[name] for saw in known),
                weights if all(weights) else None)
    return Sample(
        (dataclasses.replace(first, iodepth=sum(
            workload.iodepth for workload in sample.workloads)),),
        whole.get('latency_us', sample.latency_us),
        sample.request_latency_us, sample.round, (whole,))
