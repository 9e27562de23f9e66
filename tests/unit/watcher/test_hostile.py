# SPDX-License-Identifier: Apache-2.0
"""Broken parameters of audits and actions are refused, without a traceback."""

import logging
import random

import testtools

from tests.unit.watcher import engine  # noqa: F401  it skips without Watcher

from tests.fuzz import audits
from tests.fuzz import files
from tests.fuzz import mutation

_INPUTS = 50


class HostileTest(testtools.TestCase):

    def test_broken_inputs_are_refused(self):
        logging.disable()
        self.addCleanup(logging.disable, logging.NOTSET)
        self.addCleanup(files.clean)
        chance = random.Random(7)
        seeds = files.seeds('watcher')
        audits.audit(seeds[0])
        for _ in range(_INPUTS):
            audits.audit(mutation.mutated(chance.choice(seeds), chance))
