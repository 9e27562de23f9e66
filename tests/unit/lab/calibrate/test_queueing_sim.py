# SPDX-License-Identifier: Apache-2.0

import ddt
import numpy as np
import simpy
import testtools

from serifos import errors
from serifos.lab.calibrate import network
from serifos.lab.calibrate import queueing_sim

_BUS = network.Station('bus', 12.0)
_DIES = network.Station.servers('dies', 170.0, 8)
_MEDIA = network.Station.of_times('media', 20.0, 60.0, 24)


def seeded(*seed):
    return np.random.default_rng([*seed])


def by_simpy(stations, clients, rng, requests):
    """The mean response of stations that serve in order, by simpy.

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
    counted = np.array(responses[requests // 10:])
    batches = [part.mean() for part in np.array_split(counted, 20)]
    return counted.mean(), np.std(batches, ddof=1) / np.sqrt(20)


@ddt.ddt
class SimulatedTest(testtools.TestCase):

    def near(self, expected, found, error=0.0):
        """Within four standard errors of both."""
        self.assertLess(abs(found.mean_us - expected),
                        4 * np.hypot(found.half_us / 2.09, error))
        self.assertLess(found.half_us, 0.1 * expected)

    @ddt.data(([_DIES, _BUS], 24), ([_MEDIA, _BUS], 24), ([_BUS], 3),
              ([_BUS, network.Station('media', 30.0, visits=0.4)], 6),
              ([network.Station('root', 50.0, (1.0, 1.4, 1.7, 2.0)), _BUS], 9))
    @ddt.unpack
    def test_exponential_work_meets_the_exact_solution(self, stations, n):
        found = queueing_sim.simulated(stations, n, seeded(n), 12_000)
        self.near(network.solve(stations, n).response_us, found)

    def test_gamma_work_that_nobody_waits_for_meets_it_too(self):
        stations = [network.Station('shared', 12.0, at_once=9, shape=4.0),
                    network.Station.servers('dies', 100.0, 9, shape=0.5)]
        self.assertTrue(network.product_form(stations, 9))
        self.near(network.solve(stations, 9).response_us,
                  queueing_sim.simulated(stations, 9, seeded(1), 12_000))

    @ddt.data(0.4, 6.0)
    def test_gamma_work_in_order_meets_simpy(self, shape):
        stations = [network.Station('bus', 12.0, shape=shape),
                    network.Station.servers('media', 60.0, 4, shape=shape,
                                            visits=0.7)]
        mean, error = by_simpy(stations, 8, seeded(2), 12_000)
        found = queueing_sim.response(stations, 8, seeded(3), 12_000)
        self.near(mean, found, error)

    def test_gamma_work_in_order_has_no_product_form(self):
        regular, wild = ([network.Station('a', 12.0, shape=shape),
                          network.Station('b', 12.0, shape=shape)]
                         for shape in (20.0, 0.3))
        exact = network.solve(regular, 4).response_us
        for stations, sign in ((regular, -1), (wild, 1)):
            found = queueing_sim.response(stations, 4, seeded(4), 12_000)
            self.assertGreater(sign * (found.mean_us - exact),
                               2 * found.half_us)

    def test_where_there_is_an_exact_solution_it_is_taken(self):
        found = queueing_sim.response([_DIES, _BUS], 24, seeded(5))
        self.assertEqual((0.0, None), (found.half_us, found.p99_us))
        self.assertEqual(network.solve([_DIES, _BUS], 24).response_us,
                         found.mean_us)

    def test_the_same_seed_gives_the_same(self):
        one, again, other = (
            queueing_sim.simulated([_DIES, _BUS], 5, seeded(s), 500)
            for s in (6, 6, 7))
        self.assertEqual(one, again)
        self.assertNotEqual(one, other)

    def test_a_lone_exponential_request_has_its_percentile(self):
        found = queueing_sim.simulated([_BUS], 1, seeded(8), 12_000)
        self.assertAlmostEqual(1, found.p99_us / (12 * np.log(100)),
                               delta=0.1)

    def test_no_client_is_refused(self):
        self.assertRaises(errors.InputError, queueing_sim.simulated, [_BUS], 0,
                          seeded(9))
