# SPDX-License-Identifier: Apache-2.0

import testtools

from serifos.facts.cluster import Pool
from serifos.facts.cluster import Volume
from serifos.facts.workload import Workload
from serifos.scheduler import pending
from serifos.scheduler import prediction_cache
from serifos.scheduler.view import ModelledDevice
from tests.unit import samples
from tests.unit.scheduler import files


APART = files.model('ssd', kind='tenant', parameters=samples.APART)
SMALL, LARGE = Workload(0, 4, 8), Workload(0, 256, 8)


def endless(name):
    """A model whose interval, beyond its range, ends nowhere."""
    return files.model(name, quality={'interval': [-0.2, 1e308]},
                       range={'block_kib': (4, 4), 'count': (1, 9)})


class PredictionCacheTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.coming = Workload(30, 8, 8)

    def predict(self, pool='a', model=files.model('ssd'), coming=None,
                standing=(), lifted=None, pools=(Pool('a', 'ssd'),),
                volumes=(files.volume('1', 'a', 16),), slo_us=None,
                but=None):
        view = files.view(pools, volumes, ssd=model)
        kept = prediction_cache.PredictionCache()
        kept.renew(view)
        its = pending.Pending(3600, files.USUAL)
        its.renew(view.pools, 0)
        for i, workload in enumerate(standing):
            its.record(f'new-{i}', pending.PendingVolume(
                'a', workload, 10, 0, max_latency_us=slo_us))
        devices = {pool.name: pool.device_key for pool in pools}
        found, = kept.of(
            tuple(coming or [self.coming]),
            [ModelledDevice(devices[pool], 'ssd')
             if pool in devices else None],
            its, but, {} if lifted is None else {'a': lifted})
        return found

    def test_what_lives_there_and_the_newcomer(self):
        self.assertEqual(240, self.predict().latency_us)

    def test_the_balancers_correction_holds_here_too(self):
        pools = (Pool('a', 'ssd', device='d', correction=0.8),
                 Pool('b', 'ssd', device='d', correction=1.5))
        for at in (0, 2):  # volumes that are pending
            found = self.predict(
                pools=pools, standing=[self.coming] * at, volumes=(
                    files.volume('1', 'a', 16, max_latency_us=100),))
            kib = 16 + 8 * (1 + at)
            self.assertAlmostEqual(1.5 * 10 * kib, found.latency_us)
            self.assertAlmostEqual(1.5 * 10 * kib, found.own_us)
            self.assertAlmostEqual(1.5 * 10 * kib / 100, found.strain)
        typical, = files.view(pools[:1], [files.volume('1', 'a', 16)],
                              ssd=files.model('ssd')).typical.values()
        self.assertAlmostEqual(0.8 * 320, typical.latency_us)

    def test_volumes_of_a_pool_that_is_down_load_a_device_it_shares(self):
        pools = (Pool('a', 'ssd', device='d'),
                 Pool('b', 'ssd', device='d', state='down'),
                 Pool('c', 'ssd', state='down'))
        self.assertEqual(10 * (16 + 32 + 8), self.predict(
            pools=pools, volumes=[
                files.volume('1', 'a', 16), files.volume('2', 'b', 32),
                files.volume('3', 'c', 64)]).latency_us)

    def seen(self, mine, *there):
        """What one of the tenants of a pool sees, µs."""
        return APART.tenant(APART.load([mine, *there]), mine).latency_us

    def test_a_small_newcomer_does_not_dilute_a_pool(self):
        volumes = [Volume('1', 'a', 10, workload=LARGE)]
        found = self.predict(model=APART, coming=[SMALL], volumes=volumes)
        before = self.seen(LARGE)
        self.assertLess(APART.predict(APART.load([LARGE, SMALL])), before)
        self.assertAlmostEqual((self.seen(SMALL, LARGE) + self.seen(
            LARGE, SMALL)) / 2, found.latency_us)
        self.assertAlmostEqual(self.seen(SMALL, LARGE), found.own_us)

    def test_all_tenants_of_the_cloud_count_wherever_they_are(self):
        volumes = [Volume('1', 'b', 10, workload=LARGE)]
        found = self.predict(model=APART, coming=[SMALL], volumes=volumes,
                             pools=[Pool(name, 'ssd') for name in 'ab'])
        its = APART.load([SMALL])
        self.assertAlmostEqual((self.seen(SMALL) + APART.tenant(
            its, LARGE).latency_us) / 2, found.latency_us)

    def test_an_slo_is_judged_by_what_its_volume_sees(self):
        for workload, strained in (SMALL, False), (LARGE, True):
            found = self.predict(model=APART, coming=[SMALL], volumes=[
                Volume('1', 'a', 10, workload=workload,
                       max_latency_us=1000),
                Volume('2', 'a', 10, workload=LARGE)])
            self.assertAlmostEqual(
                self.seen(workload, LARGE, SMALL) / 1000, found.strain)
            self.assertEqual(strained, found.strain > 1)
            self.assertEqual('1', found.strained.volume)

    def test_an_slo_to_an_idle_volume_is_judged_as_all_tenants(self):
        found = self.predict(model=APART, coming=[SMALL], volumes=[
            Volume('1', 'a', 10, max_latency_us=1000),
            Volume('2', 'a', 10, volume_type='x', workload=LARGE)])
        self.assertAlmostEqual(found.latency_us / 1000, found.strain)

    def test_the_slo_of_what_is_on_its_way_and_of_what_leaves(self):
        volumes = [Volume('1', 'a', 10, workload=LARGE,
                          max_latency_us=1000)]
        found = self.predict(model=APART, coming=[SMALL], standing=[SMALL],
                             slo_us=10, volumes=volumes, lifted=LARGE,
                             but='1')
        self.assertAlmostEqual(self.seen(SMALL, SMALL) / 10, found.strain)

    def test_of_many_slos_the_first_to_be_broken_count(self):
        volumes = [Volume(str(i), 'a', 10, workload=Workload(
            0, 4 * i, 8), max_latency_us=100) for i in range(1, 20)]
        found = self.predict(model=APART, coming=[SMALL], volumes=volumes)
        self.assertEqual('19', found.strained.volume)

    def test_a_typical_volume_stands_in_for_one_without_telemetry(self):
        volumes = [files.volume('1', 'b', 16, volume_type='x'),
                   files.volume('2', 'a', None, volume_type='x')]
        self.assertEqual(240, self.predict(
            volumes=volumes,
            pools=[Pool(name, 'ssd') for name in 'ab']).latency_us)

    def test_what_is_on_its_way_counts_as_often_as_it_does(self):
        several = [Workload(0, 4, 8)] * 3 + [Workload(5, 2, 8)]
        self.assertEqual(380, self.predict(standing=several).latency_us)

    def test_what_is_on_its_way_counts(self):
        self.assertEqual(
            280, self.predict(standing=[Workload(0, 4, 8)]).latency_us)

    def test_what_is_lifted_does_not(self):
        self.assertEqual(80, self.predict(
            lifted=Workload(30, 16, 8)).latency_us)

    def test_an_absent_pool_is_unknown_and_an_empty_one_is_not(self):
        self.assertIsNone(self.predict(pool='b'))
        self.assertEqual(80, self.predict(volumes=()).latency_us)

    def test_beyond_the_training_range_the_upper_end_is_taken(self):
        model = files.model('ssd', quality={'interval': [-0.2, 0.5]}, range={
            'block_kib': (4, 4), 'count': (1, 9)})
        self.assertEqual(360, self.predict(model=model).latency_us)

    def test_an_overflowing_model_is_no_model(self):
        self.assertIsNone(self.predict(model=endless('ssd')))

    def test_a_model_that_fails_is_its_own_affair(self):
        view = files.view(
            [Pool('a', 'ssd'), Pool('b', 'bad')],
            [files.volume('1', 'b', 64)],
            ssd=files.model('ssd'), bad=endless('bad'))
        self.assertEqual({ModelledDevice('a', 'ssd')}, set(view.typical))

    def test_the_error_is_the_model_s_own(self):
        found = self.predict(model=files.model('ssd', mre=0.1))
        self.assertEqual(24, found.error_us)

    def test_qos_bounds_what_a_newcomer_keeps_outstanding(self):
        model = files.model('ssd', 5.0, kind='outstanding')
        free = Workload(0, 8, 8)
        bound = Workload(0, 8, 8, iops=1000)
        # 8 outstanding of 16 KiB and of 8 KiB: 5 * 8 * 24 = 960 µs, in which
        # 0.96 requests come by at 1,000 a second.
        self.assertEqual(
            960, self.predict(model=model, coming=[free]).latency_us)
        self.assertAlmostEqual(5 * (8 * 16 + 0.96 * 8), self.predict(
            model=model, coming=[bound]).latency_us, places=5)

    def test_a_loose_bound_is_none(self):
        model = files.model('ssd', kind='outstanding')
        loose, free = (Workload(0, 8, 8, iops=iops)
                       for iops in (1e9, None))
        self.assertEqual(self.predict(model=model, coming=[free]),
                         self.predict(model=model, coming=[loose]))
