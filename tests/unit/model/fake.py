# SPDX-License-Identifier: Apache-2.0
"""A kind with settings whose best the tests know: a power of the size."""

import dataclasses

import fixtures
import numpy as np

from serifos.model import fit
from serifos.model import kinds
from serifos.model import model as mm
from serifos.model import parameter as pm

KIND = 'power'
SETTINGS = (pm.Parameter('power', 0.5, 0, 2, whole=False),
            pm.Parameter('unused', 1, 0, 1))


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


class Kind(fixtures.Fixture):
    """The kind is known while this is in use."""

    def _setUp(self):
        self._patch(kinds, 'READERS', {
            **kinds.READERS, KIND: lambda kind, doc: Power(**doc)})
        self._patch(mm, 'KINDS', (*mm.KINDS, KIND))
        self._patch(fit, 'FITTERS', {
            **fit.FITTERS, KIND: fit.Fitter(_fit, SETTINGS)})

    def _patch(self, module, name, value):
        self.addCleanup(setattr, module, name, getattr(module, name))
        setattr(module, name, value)


class Failing(Kind):
    """A kind that no dataset suits."""

    def _setUp(self):
        self._patch(mm, 'KINDS', (*mm.KINDS, 'failing'))
        self._patch(fit, 'FITTERS', {
            **fit.FITTERS, 'failing': fit.Fitter(
                _fails, (pm.Parameter('depth', 1, 1, 3),))})
