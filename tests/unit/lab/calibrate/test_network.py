# SPDX-License-Identifier: Apache-2.0

import fractions
import itertools
import json
import math
import pathlib

import ddt
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies
import numpy as np
import testtools

from serifos.lab.calibrate import network
from serifos.model.queueing import two_stations
from tests.unit import papers

ORACLE = json.loads(pathlib.Path(
    papers.__file__).with_name('line_solver.json').read_text())

_TIMES = strategies.floats(0, 1000).map(lambda us: round(us, 3))
_NETWORKS = strategies.lists(
    strategies.tuples(_TIMES, strategies.lists(strategies.integers(1, 9),
                                               min_size=1, max_size=4)),
    min_size=1, max_size=3).filter(lambda net: any(us for us, _ in net))


def enumerated(stations, clients):
    """The throughput by adding up every state, in exact fractions."""
    def constant(clients):
        return sum(
            math.prod(
                fractions.Fraction(station.demand_us) /
                fractions.Fraction(station.speed(n))
                for station, present in zip(stations, state)
                for n in range(1, present + 1))
            for state in itertools.product(
                range(clients + 1), repeat=len(stations))
            if sum(state) == clients)
    return float(constant(clients - 1) / constant(clients))


@ddt.ddt
class SolveTest(testtools.TestCase):

    @ddt.data(*ORACLE['cases'])
    def test_it_equals_line_solver(self, case):
        stations = [
            network.Station('s', us, tuple(
                float(eval(speed, {'j': j}))  # of our own file
                for j in range(1, case['clients'] + 1)))
            for us, speed in zip(case['times'], case['speeds'])]
        found = network.response_us(stations, case['clients'])
        for solver in ('mva', 'ctmc'):
            np.testing.assert_allclose(
                case['clients'] / found, case[solver]['throughput'],
                rtol=1e-9)

    @settings(max_examples=25, deadline=None)
    @given(_NETWORKS, strategies.integers(1, 5))
    def test_it_equals_the_sum_over_all_states(self, net, clients):
        stations = [network.Station('s', us, tuple(map(float, speeds)))
                    for us, speeds in net]
        self.assertAlmostEqual(
            clients, network.response_us(stations, clients)
            * enumerated(stations, clients), places=9)

    def test_a_thousand_clients_neither_overflow_nor_cancel(self):
        stations = [network.Station.servers('channels', 170.0, 64),
                    network.Station('bus', 12.0)]
        self.assertAlmostEqual(1024 * 12, network.response_us(stations, 1024),
                               places=6)

    def test_a_station_that_is_visited_half_the_time_is_half_as_much(self):
        whole, half = (network.response_us([
            network.Station('cache', 20.0),
            network.Station('media', us, visits=p1)], 7)
            for us, p1 in ((50.0, 1.0), (100.0, 0.5)))
        self.assertAlmostEqual(whole, half, places=9)

    def test_times_linear_in_n_are_those_of_channels_chosen_at_random(self):
        # 5 channels, one after another here, of 30 µs each visited 1 in 5:
        # alike in the time that a request spends in them.
        channels = [network.Station('channel', 30.0, visits=0.2)] * 5
        of_times = network.Station.of_times('media', 6.0, 24.0, 50)
        bus = network.Station('bus', 4.0)
        self.assertAlmostEqual(
            network.response_us([*channels, bus], 50),
            network.response_us([of_times, bus], 50), places=7)


class PairTest(testtools.TestCase):

    @settings(max_examples=30, deadline=None)
    @given(_TIMES, _TIMES, _TIMES, _TIMES, strategies.integers(1, 40))
    def test_it_equals_the_convolution(self, a1, b1, a2, b2, clients):
        if a1 + b1 + a2 + b2 == 0:
            self.assertEqual(
                0, two_stations.response_us(clients, a1, b1, a2, b2))
            return
        found = network.response_us([
            network.Station.of_times('cache', a1, b1, clients),
            network.Station.of_times('media', a2, b2, clients)], clients)
        self.assertAlmostEqual(1, two_stations.response_us(
            clients, a1, b1, a2, b2) / found, places=9)

    @settings(max_examples=25, deadline=None)
    @given(strategies.lists(strategies.tuples(
        strategies.floats(0.01, 2000), _TIMES, _TIMES, _TIMES, _TIMES),
        min_size=1, max_size=8))
    def test_many_at_once_are_the_same(self, networks):
        np.testing.assert_allclose(
            two_stations.responses_us(*np.array(networks).T),
            [two_stations.response_us(*network) for network in networks],
            rtol=1e-12)

    @settings(max_examples=30, deadline=None)
    @given(_TIMES, _TIMES, _TIMES, _TIMES, strategies.floats(0.05, 3000),
           strategies.floats(1, 2))
    def test_more_clients_never_wait_less(self, a1, b1, a2, b2, few, more):
        was, now = (two_stations.response_us(clients, a1, b1, a2, b2)
                    for clients in (few, few * more))
        self.assertGreaterEqual(now, was * (1 - 1e-12))
