# SPDX-License-Identifier: Apache-2.0
"""SerifosScheduler in the place of Cinder's FilterScheduler."""

import ddt
import fixtures

from tests.unit.scheduler import cloud  # first: it skips without Cinder

from serifos.facts.cluster import Pool
from tests.unit.scheduler import files
from tests.unit.scheduler import test_weigher

A, B, C = test_weigher.A, test_weigher.B, test_weigher.C


class Case(test_weigher.Case):

    scheduler = cloud.SERIFOS

    def weighers(self):
        return ['CapacityWeigher']

    def landed(self, number=1, **facts):
        """Where volumes land that are asked for one after the other."""
        return [self.cloud.create(**facts).host for _ in range(number)]


@ddt.ddt
class DriverTest(Case):

    def test_it_places_by_prediction_and_not_by_capacity(self):
        self.busy(a=64, b=8)
        self.cloud.pool(B, 10, free_gib=20, serifos_model='ssd')
        self.assertEqual([B], self.landed())
        self.assertIn('Serifos ranks 2 pools for volume', self.log.output)
        self.assertIn(f'{B} first (240 µs)', self.log.output)

    def test_equal_within_the_model_s_error_capacity_decides(self):
        self.files.models(files.model('ssd', mre=0.1))
        self.busy(a=64, b=63, c=128)
        self.cloud.pool(A, 10, free_gib=950, serifos_model='ssd')
        self.assertEqual([A], self.landed())
        self.assertIn('among 2 that are equal', self.log.output)

    @ddt.data('stale', 'missing', 'no model')
    def test_where_it_is_neutral_the_default_weighers_decide(self, why):
        self.busy(a=64, b=8)
        self.cloud.pool(A, 10, free_gib=950, serifos_model='ssd')
        if why == 'stale':
            self.files.cluster([A, B], age_s=9999)
        elif why == 'missing':
            self.files.pools_path.unlink()
        else:
            (self.files.models_dir / 'ssd.json').unlink()
        self.assertEqual([A], self.landed())
        self.assertIn('to the default weighers', self.log.output)

    def test_a_burst_spreads(self):
        self.busy(a=16, b=16, c=16)
        found = self.landed(9)
        self.assertEqual([3, 3, 3], [found.count(p) for p in (A, B, C)])

    def test_a_burst_of_two_kinds_is_counted_by_kind(self):
        """One of 128 KiB weighs as much as eight of 16 KiB."""
        heavy = self.cloud.type('heavy', serifos__block_kib='128')
        self.files.cluster([A, B])
        self.pools(A, B)
        first, = self.landed(kind=heavy, size=500)
        other = B if first == A else A
        self.assertEqual([other] * 7, self.landed(7, size=1))

    def test_what_it_placed_is_not_inferred_as_well(self):
        self.files.cluster([A, B, C])
        self.pools(A, B, C)
        found = self.landed(6)
        self.cloud.pool(A, 10.0 * found.count(A), serifos_model='ssd')
        self.cloud.pool(B, 10.0 * found.count(B), serifos_model='ssd')
        found += self.landed(6)
        self.assertEqual([4, 4, 4], [found.count(p) for p in (A, B, C)])

    def test_another_scheduler_s_burst_is_inferred(self):
        self.busy(a=16, b=16)
        self.cloud.pool(A, 10 + 40, serifos_model='ssd')
        self.assertEqual([B] * 4, self.landed(4))

    def test_pools_of_one_device_are_one(self):
        self.files.cluster([Pool(A, device='x'), Pool(B, device='x'),
                            Pool(C, device='y')])
        self.pools(A, B, C)
        self.assertEqual(4, self.landed(8).count(C))

    def test_a_clone_stays_with_its_source(self):
        self.busy(a=64, b=8)
        volume = self.cloud.living(A)
        spec = self.cloud.spec(volume)
        spec.resource_backend = A
        found = self.cloud.driver._schedule(self.cloud.context, spec, {})
        self.assertEqual(A, found.obj.host)

    def test_a_retype_that_may_migrate_goes_to_the_fastest(self):
        self.busy(a=64, b=32, c=8)
        fast = self.cloud.type('fast', volume_backend_name='ssd')
        # Its pool is no longer one that may hold it.
        self.cloud.pool(A, 10, free_gib=950, serifos_model='ssd',
                        volume_backend_name='old')
        volume = self.cloud.living(A)
        self.assertEqual(C, self.cloud.retype(volume, fast))

    @ddt.data('extend_volume', 'create_snapshot', 'manage_existing')
    def test_other_operations_are_left_alone(self, operation):
        self.busy(a=64, b=8)
        volume = self.cloud.living(A)
        self.assertEqual(A, self.cloud.passes(volume, A, operation))
        self.assertNotIn('Serifos', self.log.output)

    def test_a_group_lands_where_one_of_each_type_is_fastest(self):
        self.busy(a=64, b=8)
        kinds = [self.cloud.type(name, serifos__block_kib=kib)
                 for name, kib in (('small', '4'), ('large', '64'))]
        self.assertEqual(B, self.cloud.group(kinds))

    def test_a_bug_of_ours_is_none_of_cinder_s(self):
        self.busy(a=64, b=8)
        self.cloud.pool(A, 10, free_gib=950, serifos_model='ssd')

        def fail(*args):
            raise ZeroDivisionError('a bug')

        self.useFixture(fixtures.MonkeyPatch(
            'serifos.scheduler.prediction_cache.PredictionCache.of', fail))
        self.assertEqual([A] * 2, self.landed(2))
        self.assertEqual(1, self.log.output.count('Traceback'))


class RollbackTest(Case):

    def test_the_stock_driver_again(self):
        self.busy(a=64, b=8)
        self.cloud.pool(A, 10, free_gib=950, serifos_model='ssd')
        self.assertEqual([B], self.landed())
        cloud.CONF.set_override('scheduler_driver', cloud.STOCK)
        self.cloud.restart()
        self.cloud.pool(A, 10, free_gib=950, serifos_model='ssd')
        self.cloud.pool(B, 10, free_gib=900, serifos_model='ssd')
        self.assertEqual([A], self.landed())
