# SPDX-License-Identifier: Apache-2.0
"""What a fit reads of runs in which a tenant is idle."""

import dataclasses

import ddt
import testtools

from serifos.facts.dataset import Dataset
from serifos.facts.dataset import Sample
from serifos.facts.workload import Workload
from serifos.model import fit
from serifos.model import fit_runs
from tests.unit import samples

_IDLE = Workload(0, 512, 1, think_time_us=1e6)
_RUNS = [(Workload(50, s, q),) for s in (4, 16, 64) for q in (2, 8, 16)]


def _seen(us, iops):
    return {'latency_us': us, 'iops': iops, 'read_latency_us': us / 2,
            'read_p99_us': 3 * us, 'read_iops': iops / 2}


def _sample(run, *idle):
    """A run in which the idle ones see a tenth of what the first does."""
    us = 100.0 + run[0].block_kib * run[0].iodepth
    seen = (_seen(us, 1e6 * run[0].iodepth / us),
            *[_seen(us / 10, 1.0)] * len(idle))
    return Sample((*run, *idle), sum(s['latency_us'] for s in seen)
                  / len(seen), us, seen=seen)


def _dataset(*idle):
    return Dataset(samples.HEADER, tuple(
        _sample(run, *idle) for run in _RUNS))


@ddt.ddt
class IdleTest(testtools.TestCase):

    @ddt.data('latency_us', 'request_latency_us', 'read_latency_us',
              'read_p99_us', 'read_iops')
    def test_idle_tenants_are_in_no_mean(self, predicts):
        alone, beside = (fit_runs.runs(_dataset(*idle).samples, predicts)
                         for idle in ((), (_IDLE, _IDLE)))
        self.assertEqual(alone.loads, beside.loads)
        self.assertEqual(alone.y.tolist(), beside.y.tolist())

    def test_idle_tenants_are_in_no_range(self):
        alone, beside = (fit.fit(_dataset(*idle), 'outstanding')
                         for idle in ((), (_IDLE, _IDLE)))
        self.assertEqual((1, 1), beside.range['count'])
        self.assertEqual(alone.range, beside.range)
        self.assertEqual(alone.parameters, beside.parameters)

    def test_a_run_that_says_nothing_of_tenants_keeps_its_mean(self):
        silent = dataclasses.replace(_sample(_RUNS[0]), seen=())
        self.assertEqual([silent.latency_us],
                         fit_runs.runs([silent]).y.tolist())
