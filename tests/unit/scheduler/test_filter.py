# SPDX-License-Identifier: Apache-2.0
"""SerifosFilter among Cinder's own filters."""

import ddt

from tests.unit.scheduler import cloud  # first: it skips without Cinder

from serifos.facts.cluster import Pool
from serifos.facts.cluster import Volume
from serifos.facts.workload import Workload
from tests.unit import samples
from tests.unit.scheduler import files
from tests.unit.scheduler import test_weigher

A, B = test_weigher.A, test_weigher.B


@ddt.ddt
class FilterTest(test_weigher.Case):
    """The weigher would take the pool that the filter has to refuse."""

    def weighers(self):
        return ['CapacityWeigher']

    def setUp(self):
        super().setUp()
        self.gold = self.cloud.type('gold', serifos__max_latency_us='500')

    def slos(self, us, **facts):
        """A (32 KiB, SLO so much) and B (64 KiB); A has more space."""
        self.files.cluster(
            [A, B], [files.volume('1', A, 32, max_latency_us=us),
                     files.volume('2', B, 64)])
        for pool, free in ((A, 950), (B, 900)):
            self.cloud.pool(pool, 10, free_gib=free, serifos_model='ssd')

    def test_the_newcomer_s_slo(self):
        self.busy(a=64, b=8)
        self.cloud.pool(A, 10, free_gib=950, serifos_model='ssd')
        self.assertEqual(B, self.cloud.create(kind=self.gold).host)
        self.assertIn('Serifos refuses 1 of 2 pools', self.log.output)
        self.assertIn(f'the first {A}: 800 µs are predicted, 500 µs is the '
                      'SLO of its own type', self.log.output)
        self.assertEqual(A, self.cloud.create().host)

    def test_where_no_pool_keeps_it_the_volume_is_in_error(self):
        self.busy(a=64, b=64)
        volume = self.cloud.create(kind=self.gold)
        self.assertEqual((None, 'error'), (volume.host, volume.status))

    @ddt.data((480, A), (479, B))
    @ddt.unpack
    def test_the_slo_of_a_volume_that_lives_there(self, us, landed):
        self.slos(us)
        self.assertEqual(landed, self.cloud.create().host)

    @ddt.data((750, A), (700, B))
    @ddt.unpack
    def test_an_slo_is_judged_by_what_its_volume_sees(self, us, landed):
        """With the new one '1' sees 0.72 ms; all there 2.7 in the mean."""
        self.files.models(files.model(
            'ssd', kind='tenant', parameters=samples.APART))
        self.files.cluster([A, B], [
            Volume('1', A, 10, workload=Workload(0, 4, 8),
                   max_latency_us=us),
            Volume('2', A, 10, workload=Workload(0, 256, 8))])
        for pool, free in ((A, 950), (B, 900)):
            self.cloud.pool(pool, 10, free_gib=free, serifos_model='ssd')
        self.assertEqual(landed, self.cloud.create().host)

    def test_the_slo_of_a_volume_on_its_way(self):
        cloud.CONF.set_override('scheduler_driver', cloud.SERIFOS)
        self.cloud.restart()
        self.files.cluster([A])
        self.cloud.pool(A, serifos_model='ssd')
        gold = self.cloud.type('first', serifos__max_latency_us='300')
        self.assertEqual(A, self.cloud.create(kind=gold).host)
        self.assertEqual('error', self.cloud.create().status)

    @ddt.data('stale', 'missing', 'no model', 'bad SLO')
    def test_without_data_it_passes(self, why):
        self.busy(a=64, b=64)
        kind = self.gold
        if why == 'stale':
            self.files.cluster([A, B], age_s=9999)
        elif why == 'missing':
            self.files.pools_path.unlink()
        elif why == 'no model':
            (self.files.models_dir / 'ssd.json').unlink()
        else:
            kind = self.cloud.type('odd', serifos__max_latency_us='fast')
        self.assertIsNotNone(self.cloud.create(kind=kind).host)

    @ddt.data('extend_volume', 'create_snapshot', 'manage_existing',
              'manage_existing_snapshot')
    def test_other_operations_pass(self, operation):
        self.busy(a=64, b=8)
        volume = self.cloud.living(A, kind=self.gold)
        self.assertEqual(A, self.cloud.passes(volume, A, operation))

    @ddt.data((16, B), (64, None))
    @ddt.unpack
    def test_a_migration_counts_the_volume_lifted_off(self, kib, passes):
        """It brings its 16 KiB along; B holds as much as is said."""
        volume = self.cloud.living(A, kind=self.gold)
        self.files.cluster([A, B], [files.volume(volume.id, A, 16),
                                    files.volume('2', B, kib)])
        self.pools(A, B)
        self.assertEqual(
            passes, self.cloud.passes(volume, B, 'migrate_volume'))

    @ddt.data((Workload(0, 0, 0, iops=0, latency_us=0), B), (None, None))
    @ddt.unpack
    def test_a_volume_that_was_seen_idle_brings_nothing(self, seen, passes):
        """B has 48 KiB, 480 µs, of the 500 that are SLO."""
        volume = self.cloud.living(A, kind=self.gold)
        self.files.cluster([A, B], [
            Volume(volume.id, A, 10, workload=seen),
            files.volume('2', B, 48)])
        self.pools(A, B)
        self.assertEqual(
            passes, self.cloud.passes(volume, B, 'migrate_volume'))

    def test_within_one_device_a_migration_changes_nothing(self):
        volume = self.cloud.living(A, kind=self.gold)
        self.files.cluster(
            [Pool(A, device='x'), Pool(B, device='x')],
            [files.volume(volume.id, A, 48)])
        self.pools(A, B)
        self.assertEqual(B, self.cloud.passes(volume, B, 'migrate_volume'))

    def test_a_retype_passes_where_the_volume_lives(self):
        self.busy(a=64, b=64)
        volume = self.cloud.living(A)
        self.assertEqual(A, self.cloud.retype(volume, self.gold))

    def test_a_retype_is_refused_elsewhere(self):
        self.busy(a=8, b=64)
        self.cloud.pool(A, 10, volume_backend_name='old')
        volume = self.cloud.living(A)
        gold = self.cloud.type('new', serifos__max_latency_us='500',
                               volume_backend_name='ssd')
        self.assertIsNone(self.cloud.retype(volume, gold))

    def test_get_pools_by_type_is_left_alone(self):
        cloud.CONF.set_override('scheduler_default_filters',
                                ['SerifosFilter', 'CapabilitiesFilter'])
        self.cloud.restart()
        self.busy(a=64, b=64)
        self.assertEqual({A, B}, {pool['name'] for pool in (
            self.cloud.driver.get_pools(self.cloud.context,
                                        {'volume_type': self.gold.id}))})
