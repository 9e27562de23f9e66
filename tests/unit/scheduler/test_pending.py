# SPDX-License-Identifier: Apache-2.0

import collections

import ddt
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies
import testtools

from serifos.facts.cluster import Pool
from serifos.facts.cluster import Volume
from serifos.facts.workload import Workload
from serifos.scheduler import inferred
from serifos.scheduler import pending
from serifos.scheduler.request import Candidate
from tests.unit.scheduler import files

DEFAULT = Workload(30, 16, 8)
MINE = Workload(5, 128, 8)
TTL = 3600.0


def known(*volumes, pools=('a', 'b'), at=0.0, created_at=None):
    return files.pools(pools, volumes, at, created_at)


class Case(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.kept = pending.Pending(TTL, DEFAULT)

    def update(self, found, size=10.0, at=0.0, workload=DEFAULT, **allocated):
        self.kept.renew(found, at)
        self.kept.infer([Candidate(pool, 'ssd', gib)
                         for pool, gib in allocated.items()],
                        inferred.Weighed(size, workload, at))
        self.sharing = found.sharing

    def ask(self, size=10.0, at=0.0, workload=MINE):
        self.kept.weighed(inferred.Weighed(size, workload, at))

    def record(self, name, pool='a', size=10.0, at=0.0, **facts):
        self.kept.record(name, pending.PendingVolume(
            pool, MINE, size, at, **facts))

    def standing(self, **but):
        """Device → the workloads on their way there."""
        found = {device: self.kept.several(pools, **but)
                 for device, pools in self.sharing.items()}
        return {device: list(collections.Counter(several).elements())
                for device, several in found.items() if several}


class RecordedTest(Case):

    def test_it_counts_until_it_is_seen_active(self):
        self.record('1')
        self.update(known())
        self.assertEqual({'a': [MINE]}, self.standing())
        self.update(known(files.volume('1', 'a', None)))
        self.assertEqual({'a': [MINE]}, self.standing())
        self.update(known(files.volume('1', 'a', 64)))
        self.assertEqual({}, self.standing())

    def test_it_counts_for_an_hour_at_most(self):
        self.record('1')
        self.update(known(), at=TTL)
        self.assertEqual({'a': [MINE]}, self.standing())
        self.update(known(), at=TTL + 1)
        self.assertEqual({}, self.standing())

    def test_what_is_recorded_while_nothing_is_known_ends_too(self):
        self.record('1', at=0)
        self.record('2', at=TTL + 1)
        self.update(known(), at=TTL + 1)
        self.assertEqual({'a': [MINE]}, self.standing())

    def test_a_retried_volume_counts_where_it_went_at_last(self):
        self.record('1', 'a')
        self.record('1', 'b')
        self.update(known())
        self.assertEqual({'b': [MINE]}, self.standing())

    def test_the_volume_that_is_judged_does_not_count_against_itself(self):
        self.record('1')
        self.update(known())
        self.assertEqual({}, self.standing(but='1'))

    def test_one_that_vanishes_was_deleted(self):
        self.record('1')
        self.update(known(files.volume('1', 'a', None)))
        self.update(known())
        self.assertEqual({}, self.standing())

    def test_one_that_is_never_seen_was_deleted_too(self):
        self.record('1', at=100.0)
        self.update(known(at=160.0), at=161.0)
        self.assertEqual({'a': [MINE]}, self.standing())
        self.update(known(at=161.0), at=162.0)
        self.assertEqual({}, self.standing())

    def test_the_copy_of_a_migration_is_no_new_volume(self):
        pools = Pool('a', copies_gib=400.0), Pool('b')
        self.update(known(pools=pools), a=400.0)
        self.assertEqual({}, self.standing())
        self.update(known(pools=pools), a=410.0)
        self.assertEqual({'a': [DEFAULT]}, self.standing())
        # Nor does it count twice where we know who moves.
        home = files.volume('1', 'b', None, size_gib=400.0)
        self.record('1', 'a', size=400.0, home='b')
        self.update(known(home, pools=pools), a=410.0, b=400.0)
        self.assertEqual(2, len(self.standing()['a']))

    def test_nothing_tells_the_size_of_what_was_allocated(self):
        self.update(known(), size=0.0, a=10.0)
        self.assertEqual({'a': [DEFAULT]}, self.standing())

    def test_a_moving_volume_counts_in_its_target_until_it_is_there(self):
        self.record('1', 'b', home='a')
        self.update(known(files.volume('1', 'a', 64)))
        self.assertEqual({'b': [MINE]}, self.standing())
        self.update(known(files.volume('1', 'b', 64)))
        self.assertEqual({}, self.standing())

    def test_pools_that_share_a_device_add(self):
        self.record('1', 'a')
        self.record('2', 'b')
        self.update(known(pools=(Pool('a', device='sdb'),
                                 Pool('b', device='sdb'))))
        self.assertEqual({'device:sdb': [MINE, MINE]}, self.standing())

    def test_what_it_allocates_is_not_inferred_once_more(self):
        self.record('1')
        self.update(known(), a=10)
        self.assertEqual({'a': [MINE]}, self.standing())
        self.update(known(files.volume('1', 'a', None)), a=10)
        self.assertEqual({'a': [MINE]}, self.standing())
        self.update(known(files.volume('1', 'a')), a=10)
        self.assertEqual({}, self.standing())


@ddt.ddt
class InferredTest(Case):

    def test_allocated_beyond_the_volumes_is_a_volume_on_its_way(self):
        self.update(known(files.volume('1', 'a', size_gib=10)), a=20, b=0)
        self.assertEqual({'a': [DEFAULT]}, self.standing())

    @ddt.data((30, 3), (34, 3), (4, 1))
    @ddt.unpack
    def test_how_many_by_the_size_that_is_asked_for(self, gib, count):
        self.update(known(), size=10, a=gib)
        self.assertEqual({'a': [DEFAULT] * count}, self.standing())

    def test_a_small_request_does_not_make_many_of_a_large_volume(self):
        self.update(known(files.volume('1', 'b', size_gib=500)),
                    size=1, a=1000, b=500)
        self.assertEqual({'a': [DEFAULT] * 2}, self.standing())

    def test_what_was_asked_for_and_then_allocated_went_there(self):
        self.update(known(), a=0, b=0)
        self.ask(size=100)
        self.update(known(), size=1, a=0, b=100)
        self.assertEqual({'b': [MINE]}, self.standing())

    def test_a_burst_counts_volume_by_volume(self):
        allocated = {'a': 0.0, 'b': 0.0}
        for i in range(6):
            self.update(known(), at=float(i), **allocated)
            self.ask(at=float(i))
            allocated['ab'[i % 2]] += 10
        self.update(known(), **allocated)
        self.assertEqual({'a': [MINE] * 3, 'b': [MINE] * 3}, self.standing())

    def test_a_request_that_failed_explains_nothing_a_minute_later(self):
        self.ask(at=0)
        self.update(known(), at=61, a=10)
        self.assertEqual({'a': [DEFAULT]}, self.standing())

    def test_it_goes_as_the_capacity_goes(self):
        self.update(known(), a=30)
        self.update(known(), a=10)
        self.assertEqual({'a': [DEFAULT]}, {
            k: v[:1] for k, v in self.standing().items()})
        self.update(known(), a=0)
        self.assertEqual({}, self.standing())

    def test_it_counts_for_an_hour_and_is_not_taken_for_new_then(self):
        self.update(known(), a=10)
        for at in (TTL + 1, TTL + 2, 3 * TTL):
            self.update(known(), at=at, a=10)
            self.assertEqual({}, self.standing())

    def test_a_new_volume_that_sleeps_takes_over_from_what_was_inferred(self):
        self.update(known(), a=0)
        self.ask()
        self.update(known(), at=5, a=10)
        self.update(known(files.volume('1', 'a', None)), at=20, a=10)
        self.assertEqual({'a': [MINE]}, self.standing())
        self.update(known(files.volume('1', 'a', 64)), at=40, a=10)
        self.assertEqual({}, self.standing())

    def test_a_new_volume_of_another_scheduler_does_what_its_type_does(self):
        gold = files.volume('1', 'b', 64, volume_type='gold')
        self.update(known(gold), a=0)
        self.update(known(gold, Volume(
            '2', 'a', 10, 'gold', workload=Workload(0, 4, 0))), a=10)
        self.assertEqual({'a': [Workload(30, 64, 8)]}, self.standing())

    def test_where_a_typical_volume_stands_in_nothing_is_pending(self):
        gold = files.volume('1', 'b', 64, volume_type='gold')
        self.update(known(gold), a=0)
        self.update(known(gold, files.volume(
            '2', 'a', None, volume_type='gold')), a=10)
        self.assertEqual({}, self.standing())

    def test_old_volumes_that_sleep_are_not_new(self):
        """Those that were there before, and those of long ago."""
        old = files.volume('1', 'a', None)
        self.update(known(old), a=10)
        self.assertEqual({}, self.standing())
        self.update(known(old, files.volume('2', 'a', None), at=9e3,
                          created_at=1e3), at=9e3, a=20)
        self.assertEqual({}, self.standing())

    @ddt.data(None, -5.0)
    def test_no_figure_or_less_than_known_is_nothing(self, gib):
        self.update(known(files.volume('1', 'a')), a=gib)
        self.assertEqual({}, self.standing())


class NeverTwiceTest(Case):

    @settings(max_examples=30, deadline=None)
    @given(strategies.lists(strategies.tuples(
        strategies.sampled_from('ab'),
        strategies.sampled_from([1.0, 10.0, 30.0]),
        strategies.booleans(), strategies.booleans()), max_size=8))
    def test_every_volume_counts_once(self, placed):
        """Whoever places them, seen or not: as many as there are."""
        self.kept = pending.Pending(TTL, DEFAULT)
        allocated, seen = {'a': 0.0, 'b': 0.0}, []
        self.update(known(), **allocated)
        for i, (pool, size, recorded, written) in enumerate(placed):
            self.update(known(*seen), size=size, **allocated)
            if recorded:
                self.record(str(i), pool, size)
            else:
                self.ask(size)
            allocated[pool] += size
            self.update(known(*seen), size=size, **allocated)
            if written:
                seen = [*seen, files.volume(str(i), pool, None, size)]
                self.update(known(*seen), size=size, **allocated)
        counted = self.standing()
        for pool in 'ab':
            self.assertEqual(sum(p == pool for p, *_ in placed),
                             len(counted.get(pool, ())), (placed, counted))
