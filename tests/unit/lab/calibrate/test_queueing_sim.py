# SPDX-License-Identifier: Apache-2.0

import ddt
import numpy as np
import simpy
import testtools

from serifos.lab.calibrate import network
from serifos.lab.calibrate import queueing_sim

_BUS = network.Station('bus', 12.0)
_DIES = network.Station.servers('dies', 170.0, 8)
_MEDIA = network.Station.of_times('media', 20.0, 60.0, 24)


def seeded(*seed):
    return np.random.default_rng([*seed])


def by_simpy(stations, clients, rng, requests):
    """The response times of stations that serve in order, by simpy.

    Their speed is the number of their servers that are busy.
    """
    env = simpy.Environment()
    servers = [simpy.Resource(env, s.at_once) for s in stations]
    responses = []

    def client():
        while True:
            issued = env.now
            for station, server in zip(stations, servers):
                if rng.random() < station.visits:
                    with server.request() as turn:
                        yield turn
                        yield env.timeout(rng.gamma(
                            station.shape, station.time_us / station.shape))
            responses.append(env.now - issued)
    for _ in range(clients):
        env.process(client())
    while len(responses) < requests + requests // 10:
        env.step()
    return np.array(responses[requests // 10:])


def error_of(times):
    """The standard error of their mean, by batches."""
    batches = [part.mean() for part in np.array_split(times, 20)]
    return np.std(batches, ddof=1) / np.sqrt(20)


@ddt.ddt
class SimulatedTest(testtools.TestCase):

    def near(self, expected, times, error=0.0):
        """Within four standard errors of both."""
        self.assertLess(abs(times.mean() - expected),
                        4 * np.hypot(error_of(times), error))
        self.assertLess(error_of(times), 0.05 * expected)

    @ddt.data(([_DIES, _BUS], 24), ([_MEDIA, _BUS], 24), ([_BUS], 3),
              ([_BUS, network.Station('media', 30.0, visits=0.4)], 6),
              ([network.Station('root', 50.0, (1.0, 1.4, 1.7, 2.0)), _BUS], 9))
    @ddt.unpack
    def test_exponential_work_meets_the_exact_solution(self, stations, n):
        self.near(network.response_us(stations, n), queueing_sim.simulated_us(
            stations, n, seeded(n), 12_000))

    def test_gamma_work_that_nobody_waits_for_meets_it_too(self):
        stations = [network.Station('shared', 12.0, at_once=9, shape=4.0),
                    network.Station.servers('dies', 100.0, 9, shape=0.5)]
        self.assertTrue(network.product_form(stations, 9))
        self.near(network.response_us(stations, 9),
                  queueing_sim.simulated_us(stations, 9, seeded(1), 12_000))

    @ddt.data(0.4, 6.0)
    def test_gamma_work_in_order_meets_simpy(self, shape):
        stations = [network.Station('bus', 12.0, shape=shape),
                    network.Station.servers('media', 60.0, 4, shape=shape,
                                            visits=0.7)]
        times = by_simpy(stations, 8, seeded(2), 12_000)
        self.near(times.mean(), queueing_sim.simulated_us(
            stations, 8, seeded(3), 12_000), error_of(times))

    def test_gamma_work_in_order_has_no_product_form(self):
        regular, wild = ([network.Station('a', 12.0, shape=shape),
                          network.Station('b', 12.0, shape=shape)]
                         for shape in (20.0, 0.3))
        exact = network.response_us(regular, 4)
        for stations, sign in ((regular, -1), (wild, 1)):
            self.assertFalse(network.product_form(stations, 4))
            times = queueing_sim.simulated_us(stations, 4, seeded(4), 12_000)
            self.assertGreater(sign * (times.mean() - exact),
                               4 * error_of(times))
            self.assertEqual(times.mean(), queueing_sim.response_us(
                stations, 4, seeded(4), 12_000))

    def test_where_there_is_an_exact_solution_it_is_taken(self):
        self.assertEqual(
            network.response_us([_DIES, _BUS], 24),
            queueing_sim.response_us([_DIES, _BUS], 24, seeded(5), 100))

    def test_the_same_seed_gives_the_same(self):
        one, again, other = (
            queueing_sim.simulated_us([_DIES, _BUS], 5, seeded(s), 500)
            for s in (6, 6, 7))
        self.assertEqual(one.tolist(), again.tolist())
        self.assertNotEqual(one.tolist(), other.tolist())

    def test_a_lone_exponential_request_has_its_percentile(self):
        times = queueing_sim.simulated_us([_BUS], 1, seeded(8), 12_000)
        self.assertAlmostEqual(
            1, np.percentile(times, 99) / (12 * np.log(100)), delta=0.1)
