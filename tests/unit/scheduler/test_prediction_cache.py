# SPDX-License-Identifier: Apache-2.0

import testtools

from serifos.facts import cluster as cl
from serifos.facts import workload as wl
from serifos.scheduler import pending
from serifos.scheduler import pending_pool
from serifos.scheduler import prediction_cache
from serifos.scheduler import snapshot as sn
from tests.unit.scheduler import files


def endless(name):
    """A model whose interval, beyond its range, ends nowhere."""
    return files.model(name, quality={'interval': [-0.2, 1e308]},
                       range={'block_kib': (4, 4), 'count': (1, 9)})


class PredictionCacheTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.coming = wl.Workload(30, 8, 8)

    def predict(self, pool='a', model=files.model('ssd'), coming=None,
                standing=(), lifted=None, pools=(cl.Pool('a', 'ssd'),),
                volumes=(files.volume('1', 'a', 16),)):
        view = files.view(pools, volumes, ssd=model)
        kept = prediction_cache.PredictionCache(files.USUAL)
        kept.renew(view)
        its = pending.Pending(3600, files.USUAL)
        its.renew(view.snapshot, 0)
        for i, workload in enumerate(standing):
            its.record(f'new-{i}', pending_pool.PendingVolume(
                'a', workload, 10, 0))
        devices = {pool.name: pool.device_key for pool in pools}
        found, = kept.of(
            tuple(coming or [self.coming]),
            [sn.ModelledDevice(devices[pool], 'ssd')
             if pool in devices else None],
            its, None, {} if lifted is None else {'a': lifted})
        return found

    def test_what_lives_there_and_the_newcomer(self):
        self.assertEqual(240, self.predict().latency_us)

    def test_what_is_on_its_way_counts_as_often_as_it_does(self):
        several = [wl.Workload(0, 4, 8)] * 3 + [wl.Workload(5, 2, 8)]
        self.assertEqual(380, self.predict(standing=several).latency_us)

    def test_what_is_on_its_way_counts(self):
        self.assertEqual(
            280, self.predict(standing=[wl.Workload(0, 4, 8)]).latency_us)

    def test_what_is_lifted_does_not(self):
        self.assertEqual(80, self.predict(
            lifted=wl.Workload(30, 16, 8)).latency_us)

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
            [cl.Pool('a', 'ssd'), cl.Pool('b', 'bad')],
            ssd=files.model('ssd'), bad=endless('bad'))
        self.assertEqual(
            160, view.usual[sn.ModelledDevice('a', 'ssd')].latency_us)
        self.assertIsNone(view.usual[sn.ModelledDevice('b', 'bad')])

    def test_the_error_is_the_model_s_own(self):
        found = self.predict(model=files.model('ssd', mre=0.1))
        self.assertEqual(24, found.error_us)

    def test_qos_bounds_what_a_newcomer_keeps_outstanding(self):
        model = files.model('ssd', 5.0, kind='outstanding')
        free = wl.Workload(0, 8, 8)
        bound = wl.Workload(0, 8, 8, iops=1000)
        # 8 outstanding of 16 KiB and of 8 KiB: 5 * 8 * 24 = 960 µs, in which
        # 0.96 requests come by at 1,000 a second.
        self.assertEqual(
            960, self.predict(model=model, coming=[free]).latency_us)
        self.assertAlmostEqual(5 * (8 * 16 + 0.96 * 8), self.predict(
            model=model, coming=[bound]).latency_us, places=5)

    def test_a_loose_bound_is_none(self):
        model = files.model('ssd', kind='outstanding')
        loose, free = (wl.Workload(0, 8, 8, iops=iops)
                       for iops in (1e9, None))
        self.assertEqual(self.predict(model=model, coming=[free]),
                         self.predict(model=model, coming=[loose]))
