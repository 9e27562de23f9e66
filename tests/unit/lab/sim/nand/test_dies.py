# SPDX-License-Identifier: Apache-2.0
"""What a die does next."""

import dataclasses

import testtools

from serifos.lab.sim.nand import dies
from tests.unit.lab.sim.nand import test_nand

DEVICE = dataclasses.replace(
    test_nand.QUIET, turns=2, pieces=2, block_pages=10, valid=0.4,
    erase_us=1000)


class DieTest(testtools.TestCase):

    def test_reads_come_first_but_not_for_ever(self):
        die = dies.Die(0)
        self.assertIsNone(die.chooses(DEVICE))
        die.reads.extend('abcdef')
        die.programs = 2
        self.assertEqual(
            [dies.READ, dies.READ, dies.PROGRAM, dies.READ],
            [die.chooses(DEVICE) for _ in range(4)])
        die.programs = 0
        self.assertEqual([dies.READ] * 4,
                         [die.chooses(DEVICE) for _ in range(4)])

    def test_what_was_suspended_comes_before_garbage(self):
        die = dies.Die(0)
        die.debt.extend([5.0, 5.0])
        die.programs, die.paused = 1, (dies.PROGRAM, 7.0)
        self.assertEqual(dies.RESUME, die.chooses(DEVICE))
        die.paused = None
        self.assertEqual(dies.COLLECT, die.chooses(DEVICE))
        die.debt.pop()
        self.assertEqual(dies.PROGRAM, die.chooses(DEVICE))
        die.programs = 0
        self.assertEqual(dies.COLLECT, die.chooses(DEVICE))

    def test_overwritten_pages_are_collected_a_block_at_a_time(self):
        die = dies.Die(0)
        die.worn = 5.5
        die.programmed(DEVICE, 1.0)
        self.assertEqual(0, len(die.debt))
        die.worn = 7.0
        die.programmed(DEVICE, 1.0)
        each_us = (4 * (80 + 600) + 1000) / 2
        self.assertEqual(([each_us] * 2, 1.0), ([*die.debt], die.worn))
