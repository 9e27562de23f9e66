# SPDX-License-Identifier: Apache-2.0
"""Every parser of outside text on good inputs, and on a few broken ones.

``tools/fuzz`` runs the same targets on a million; this is for a fix not to
be undone unseen. What fails here is repeated by ``tools/fuzz TARGET FILE``.
"""

import logging
import random
import warnings

import ddt
import testtools

from tests.fuzz import files
from tests.fuzz import mutation
from tests.fuzz import targets
from tests.fuzz import watch

_INPUTS = 100


@ddt.ddt
class FuzzTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        logging.disable()
        self.addCleanup(logging.disable, logging.NOTSET)
        self.enterContext(warnings.catch_warnings())
        warnings.simplefilter('ignore')
        self.addCleanup(files.clean)

    @ddt.data(*targets.TARGETS)
    def test_good_inputs_are_read(self, name):
        for data in files.seeds(name):
            targets.TARGETS[name](data)

    @ddt.data(*targets.TARGETS)
    def test_broken_inputs_are_refused(self, name):
        watched, seeds = watch.Watch(name), files.seeds(name)
        chance = random.Random(7)
        for _ in range(_INPUTS):
            watched(mutation.mutated(chance.choice(seeds), chance))
        self.assertEqual((_INPUTS, 0, {}), (
            watched.inputs, watched.hangs, watched.tracebacks))

    def test_every_corpus_has_its_target(self):
        """Watcher's is there where Watcher is, see tests/unit/watcher."""
        self.assertEqual(set(targets.TARGETS) | {'watcher'}, {
            path.name for path in files.CORPUS.iterdir()})


class WatchTest(testtools.TestCase):
    """What is found is told apart, and kept to be repeated."""

    def watched(self, target):
        self.addCleanup(setattr, targets, 'TARGETS', targets.TARGETS)
        targets.TARGETS = {'one': target}
        return watch.Watch('one')

    def test_an_exception_is_known_by_its_place(self):
        found = self.watched(lambda data: {}[data])
        for data in b'a', b'b':
            found(data)
        (place, times), = found.tracebacks.items()
        self.assertTrue(place.startswith('KeyError at '), place)
        self.assertEqual((2, 2, 0), (times, found.inputs, found.hangs))

    def test_what_a_target_may_raise_is_no_finding(self):
        def refuses(data):
            raise targets.errors.FormatError('no')
        found = self.watched(refuses)
        found(b'a')
        self.assertEqual((1, 0, {}), (
            found.inputs, found.hangs, found.tracebacks))

    def test_the_same_seed_makes_the_same_inputs(self):
        seeds = files.seeds('cluster')
        self.assertEqual(
            *([mutation.mutated(seeds[0], random.Random(n))
               for n in range(50)] for _ in range(2)))
