# SPDX-License-Identifier: Apache-2.0

import ddt
import testtools

from serifos.facts.cluster import Cluster
from serifos.facts.cluster import Pool
from serifos.facts.journal import Entry
from serifos.facts import space
from serifos.facts import times

DAY = 86400.0


def entry(day, kind, volume='v', **facts):
    return Entry(times.text(day * DAY), kind, {'volume': volume, **facts})


def migration(day, source, target, gib, result='success', volume='v'):
    ends = {'source': source, 'target': target}
    return [entry(day, 'request', volume, size_gib=gib, plan='p', **ends),
            entry(day, 'outcome', volume, result=result, reason='',
                  seconds=1, **ends)]


def growth(now, before, entries=(), least=0.5):
    return space.growth(space.Used(10 * DAY, now), [
        space.Used(day * DAY, gib) for day, gib in before],
        space.moved(entries), least * DAY)


@ddt.ddt
class GrowthTest(testtools.TestCase):

    def test_each_pool_since_it_is_known(self):
        self.assertEqual({'a': 5.0, 'b': -2.0}, growth(
            {'a': 60, 'b': 8, 'new': 9},
            [(4, {'a': 30, 'gone': 5}), (9, {'b': 10})]))

    @ddt.data((1.5, {}), (1.0, {'a': 3.0}), (0.0, {'a': 3.0}))
    @ddt.unpack
    def test_it_has_to_be_seen_for_long_enough(self, least, found):
        self.assertEqual(found, growth(
            {'a': 13}, [(9, {'a': 10})], least=least))
        self.assertEqual({}, growth({'a': 13}, [(10, {'a': 10})], least=0))

    def test_volumes_that_were_moved_are_no_growth(self):
        entries = [*migration(3, 'b', 'a', 1000), *migration(6, 'b', 'a', 40),
                   *migration(7, 'a', 'c', 15, volume='w'),
                   *migration(8, 'b', 'a', 500, 'error')]
        self.assertEqual({'a': 5.0, 'b': 1.0}, growth(
            {'a': 85, 'b': 6}, [(4, {'a': 30, 'b': 40})], entries))

    def test_an_outcome_without_its_request_counts_for_nothing(self):
        self.assertEqual([], space.moved(migration(3, 'a', 'b', 10)[1:]))


class UsedTest(testtools.TestCase):

    def test_pools_of_migrations_under_way_are_left_out(self):
        pools = (Pool('a', used_gib=5.0), Pool('b'),
                 Pool('c', used_gib=6.0, copies_gib=1.0),
                 Pool('d', used_gib=7.0))
        self.assertEqual(space.Used(9.0, {'a': 5.0}), space.used(
            Cluster(pools, ()), {'d'}, 9.0))

    def test_what_is_not_known_any_more_is_not_told(self):
        before = Cluster((Pool('a', growth_gib_day=3.0),
                          Pool('b')), ())
        self.assertEqual([None, 2.0], [
            pool.growth_gib_day for pool in space.grown(
                before, {'b': 2.0}).pools])
