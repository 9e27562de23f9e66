# SPDX-License-Identifier: Apache-2.0
"""Mean values of simulated devices, against their requests one by one."""

import dataclasses

import ddt
import numpy as np
import testtools

from serifos.facts.workload import Workload
from serifos.lab.backtest import queues
from serifos.lab.backtest.rates import Demand
from serifos.lab.sim import device
from serifos.lab.sim import devices

REQUESTERS = 24  # of each volume: nearly an open load


def demand(reads_s, writes_s, kib, random):
    return Demand(*(np.atleast_1d(np.array(each, float)) for each in (
        reads_s, writes_s, kib, random)))


def at(pool, *columns):
    return np.array(pool, np.intp), demand(*columns)


def mix(ssd, busy, seed=7, count=6):
    """Volumes that keep a device busy for this share of its time."""
    rng = np.random.default_rng(seed)
    rate, writes = np.exp(rng.normal(0, 1, count)), rng.random(count)
    rest = np.exp(rng.normal(4, 0.8, count)).clip(4, 512), rng.random(count)
    pool = np.zeros(count, np.intp)
    its = queues.Devices([ssd]).answer(
        pool, demand(rate * (1 - writes), rate * writes, *rest)).busy[0]
    rate *= busy / its
    return pool, demand(rate * (1 - writes), rate * writes, *rest)


def simulated(ssd, its, latency_us, ios=12_000):
    """Latency of the requests of all volumes, simulated one by one, µs."""
    rate = its.reads_s + its.writes_s
    workloads = [Workload(
        float(100 * writes / each), float(kib), REQUESTERS,
        float(100 * random), think_time_us=float(max(
            0, 1e6 * REQUESTERS / each - us)))
        for each, writes, kib, random, us in zip(
            rate, its.writes_s, its.kib, its.random, latency_us)]
    seen = device.SimulatedDevice(
        ssd, np.random.default_rng(5), ios, True).measure(workloads, 60).seen
    rates = np.array([each['iops'] for each in seen])
    return float(rates @ [each['latency_us'] for each in seen] / rates.sum())


@ddt.ddt
class AnswerTest(testtools.TestCase):

    @ddt.data(*((ssd.name, busy, within) for ssd in devices.NAMED
                for busy, within in ((0.3, 0.3), (0.6, 0.35))))
    @ddt.unpack
    def test_as_requests_one_by_one(self, name, busy, within):
        ssd = next(ssd for ssd in devices.NAMED if ssd.name == name)
        ssd = dataclasses.replace(ssd, run_cv=0.0)
        pool, its = mix(ssd, busy)
        found = queues.Devices([ssd]).answer(pool, its)
        rate = its.reads_s + its.writes_s
        mine = float(rate @ found.latency_us / rate.sum())
        theirs = simulated(ssd, its, found.latency_us)
        self.assertTrue(abs(np.log(mine / theirs)) < within, (mine, theirs))
        self.assertEqual([1.0], found.served.tolist())

    def test_a_lone_request_waits_for_nothing(self):
        found = queues.Devices([devices.SSD1]).answer(
            *at([0], 1e-3, 0, 4, 1))
        self.assertAlmostEqual(170.3 + 4 * 3.078,
                               float(found.latency_us[0]), 2)
        self.assertAlmostEqual(1e-9 * float(found.latency_us[0]),
                               float(found.outstanding[0]))

    def test_beyond_what_a_device_can_do_all_get_the_same_share(self):
        fast = queues.Devices([devices.SSD1] * 3)
        pool, its = at([0, 0, 1], [2e4, 1e4, 100], [0, 1e4, 0],
                       [64, 64, 64], [1, 1, 1])
        found = fast.answer(pool, its)
        self.assertTrue(found.served[0] < 0.2, found.served)
        self.assertEqual([1.0, 1.0], found.served[1:].tolist())
        self.assertGreater(found.busy[0], 5)
        self.assertEqual(0.0, found.busy[2])
        self.assertAlmostEqual(2 * queues.MOST_OUTSTANDING,
                               float(found.outstanding[:2].sum()), 1)

    def test_more_demand_is_never_faster_and_never_less_outstanding(self):
        for ssd in devices.NAMED:
            both = queues.Devices([ssd])
            before = 0.0
            for busy in (0.1, 0.5, 0.8, 0.95, 1.0, 1.2, 3.0, 50.0):
                found = both.answer(*mix(ssd, busy))
                now = float(found.outstanding.sum())
                self.assertTrue(now >= before * (1 - 1e-3),
                                (ssd.name, busy, before, now))
                before = now
            self.assertLessEqual(before, 6 * queues.MOST_OUTSTANDING * 1.001)

    def test_what_idle_volumes_see_is_nothing(self):
        found = queues.Devices([devices.FAST] * 2).answer(
            *at([0, 1], [0, 50], [0, 5], [4, 4], [1, 1]))
        self.assertEqual(0.0, found.latency_us[0])
        self.assertGreater(found.latency_us[1], 0)

    def test_busy_parts_add_up(self):
        ssd = devices.SSD2
        pool, its = mix(ssd, 0.7)
        parts = queues.Devices([ssd]).busy(pool, its)
        self.assertAlmostEqual(0.7, float(parts.sum(axis=0).max()), 6)
