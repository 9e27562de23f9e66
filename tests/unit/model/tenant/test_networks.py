# SPDX-License-Identifier: Apache-2.0
"""All networks at once agree with each by itself, to the last bit."""

from __future__ import annotations

import random

import numpy as np
import testtools

from serifos.model.tenant import arithmetic
from serifos.model.tenant import inputs
from serifos.model.tenant.networks import Networks
from serifos.model.tenant import parameters


def _sum(rng: random.Random, terms: int) -> parameters.Sum:
    return parameters.Sum(rng.uniform(-2, 2), tuple(
        (i, rng.uniform(0, 0.2)) for i in range(terms) if rng.random() < 0.5))


def _member(rng: random.Random, units: int) -> parameters.Member:
    number = len(inputs.INPUTS)
    return parameters.Member(
        tuple(_sum(rng, number) for _ in range(units)),
        tuple(_sum(rng, number + units) for _ in inputs.OWN))


class NetworksTest(testtools.TestCase):

    def test_each_is_as_by_itself_in_any_number_of_rows(self):
        rng = random.Random(0)
        members = [_member(rng, units) for units in (0, 3, 10, 7)]
        values = np.random.default_rng(0).normal(
            0, 3, (len(inputs.INPUTS), 40))
        of = arithmetic.arrays()
        for rows in (1, 2, 40):
            found = Networks.of(members).values([*values[:, :rows]])
            for its, member in zip(found, members):
                for part, each in zip(its, member.values(
                        [*values[:, :rows]], of)):
                    np.testing.assert_array_equal(part, each)
