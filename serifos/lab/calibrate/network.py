# SPDX-License-Identifier: Apache-2.0
"""Exact solution of a closed network of load-dependent stations.

Each client has one request in the network and sends the next when it is
done. A request visits the stations in order, each with a probability, and
draws its class (read or write, random or sequential) anew: the mean times
of the mix describe the network exactly where it has product form, which it
has where work is exponential, or shared evenly by the requests present.

The exact solution is a convolution [1]_. It is made of logarithms: the
constants of 1,024 clients have thousands of digits, and the recursion on
mean values cancels where speeds depend on the load [2]_.

.. [1] J. P. Buzen: Computational Algorithms for Closed Queueing Networks
   with Exponential Servers, Communications of the ACM, 1973.
.. [2] M. Reiser: Mean-Value Analysis and Convolution Method for
   Queue-Dependent Servers in Closed Queueing Networks, Performance
   Evaluation, 1981.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import math

_Logs = list[float]


@dataclasses.dataclass(frozen=True)
class Station:
    """A station of the network, with an unbounded queue.

    :param time_us: service time of a request alone in it, µs
    :param speeds: its speed with 1, 2, ... requests in it, relative
        to one; the last holds for every greater number
    :param at_once: how many requests, in the order in which they came, it
        works on at the same time; they share its speed, the others wait
    :param visits: the probability that a request comes here (p1)
    :param shape: of the gamma distribution of a visit's work; 1 is the
        exponential one, more is more regular
    """

    name: str
    time_us: float
    speeds: tuple[float, ...] = (1.0,)
    at_once: int = 1
    visits: float = 1.0
    shape: float = 1.0

    @classmethod
    def servers(cls, name: str, time_us: float, number: int,
                **others: float) -> Station:
        """``number`` servers before which requests wait in one line."""
        return cls(name, time_us, tuple(map(float, range(1, number + 1))),
                   number, **others)

    @classmethod
    def of_times(cls, name: str, us_per_client: float, us: float,
                 clients: int, **others: float) -> Station:
        """A station that n requests leave n / (``us_per_client`` n + us).

        That is, each stays for as long as Eq. 1 says. It is what
        1 + us / us_per_client servers do, of which each request chooses any.
        """
        alone = us_per_client + us
        channels = min(clients, 1 + us / us_per_client) if (
            us_per_client) else clients
        return cls(name, alone, tuple(
            n * alone / (us_per_client * n + us) if alone else 1.0
            for n in range(1, max(1, clients) + 1)),
            max(1, round(channels)), **others)

    @property
    def demand_us(self) -> float:
        """The mean time of a request here, over all requests, µs."""
        return self.time_us * self.visits

    def speed(self, requests: int) -> float:
        return self.speeds[min(requests, len(self.speeds)) - 1]


def response_us(stations: Sequence[Station], clients: int) -> float:
    """The mean time from sending a request to its end, µs.

    Exact where the network has product form; a station's ``shape`` plays no
    role: see :func:`product_form`.

    :param clients: 1 or more
    """
    constants = [0.0] + [-math.inf] * clients
    for station in stations:
        constants = _convolved(constants, _weights(station, clients))
    return clients * math.exp(constants[clients] - constants[clients - 1])


def product_form(stations: Sequence[Station], clients: int) -> bool:
    """Whether :func:`response_us` is exact.

    It is where work is exponential, and where no request waits.
    """
    return all(station.shape == 1 or station.at_once >= clients
               for station in stations)


def _weights(station: Station, clients: int) -> _Logs:
    """log of demand^n / (speed(1) ... speed(n)) for n = 0 ... clients."""
    demand = station.demand_us
    log = math.log(demand) if demand else -math.inf
    found = [0.0]
    for n in range(1, clients + 1):
        found.append(found[-1] + log - math.log(station.speed(n)))
    return found


def _convolved(one: _Logs, other: _Logs) -> _Logs:
    found = []
    for n in range(len(one)):
        terms = [a + b for a, b in zip(one[:n + 1], other[n::-1])]
        top = max(terms)
        found.append(top if top == -math.inf else top + math.log(
            math.fsum(math.exp(term - top) for term in terms)))
    return found
