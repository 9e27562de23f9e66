# SPDX-License-Identifier: Apache-2.0
"""A kind with settings whose best the tests know: a power of the size."""

import dataclasses
from importlib import metadata

import fixtures
import numpy as np

from serifos.model import kinds
from serifos import plugins

KIND = 'power'
SETTINGS = (kinds.Parameter('power', 0.5, 0, 2, whole=False),
            kinds.Parameter('unused', 1, 0, 1))


@dataclasses.dataclass(frozen=True)
class Power:
    factor: float
    power: float
    terms = 1

    def predict(self, load):
        return float(self.many(np.array([load.vector]))[0])

    def many(self, loads):
        sizes = np.maximum(loads[:, 2], 1e-9)
        return np.where(loads[:, 0] == 0, 0, self.factor * sizes**self.power)

    def lines(self):
        return [('power', f'{self.factor:.5g} size ^ {self.power:g}')]


def truth(run):
    """What the kind meets exactly at a power of 1.25."""
    return 3 * sum(workload.block_kib for workload in run) ** 1.25


def _fit(loads, y, power, unused):
    sizes = np.array([load.sum_block_kib for load in loads]) ** power
    return {'factor': float(np.exp(np.mean(np.log(y / sizes)))),
            'power': power}


def _fails(loads, y, depth):
    raise ValueError('these runs are\nnot for me')


POWER = kinds.Kind(lambda kind, doc: Power(**doc), f'{__name__}:_fit',
                   SETTINGS)
FAILING = kinds.Kind(lambda kind, doc: Power(**doc), f'{__name__}:_fails',
                     (kinds.Parameter('depth', 1, 1, 3),))


class Kind(fixtures.Fixture):
    """The kind is known while this is in use."""

    def _setUp(self):
        self.install(KIND, 'POWER')

    def install(self, name, attribute):
        """An entry point, as a package that is installed brings it."""
        point = metadata.EntryPoint(
            name, f'{__name__}:{attribute}', plugins.KINDS)
        points = {**plugins.installed(plugins.KINDS), name: point}
        self.useFixture(fixtures.MonkeyPatch(
            'serifos.plugins.installed', lambda group: points))
        kinds.every.cache_clear()
        self.addCleanup(kinds.every.cache_clear)


class Failing(Kind):
    """A kind that no dataset suits."""

    def _setUp(self):
        self.install('failing', 'FAILING')


class Broken(Kind):
    """A kind whose package is broken."""

    def _setUp(self):
        self.install('broken', 'MISSING')
