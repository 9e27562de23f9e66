# SPDX-License-Identifier: Apache-2.0
"""What a balancer writes down of each round, and what it does not."""

import ddt
import numpy as np

from serifos.balancer.recorder import Recorder
from serifos.database import connection
from serifos.database import history_store
from serifos.facts import activity
from serifos.facts.inventory import Inventory
from serifos.telemetry import amounts
from serifos.telemetry.counters import Reading
from tests.unit.balancer import cloud
from tests.unit.balancer.cloud import B
from tests.unit.balancer.cloud import NOW
from tests.unit.balancer.cloud import record
from tests.unit.telemetry import readings


class Readings:
    """The port of a source that takes readings; all that were ever taken."""

    def __init__(self):
        self.taken = {}

    def take(self, host, at, counters):
        self.taken.setdefault(host, []).append(Reading(at, counters))

    def read(self, places, begin, end, step_s):
        return amounts.series(places, self.taken, begin, end, step_s,
                              longest_s=amounts.longest_s(15))


@ddt.ddt
class RecorderTest(cloud.Case):

    def setUp(self):
        super().setUp()
        self.set(auto=False)
        self.readings = Readings()
        self.store = history_store.Store(connection.Database(
            f'sqlite:///{self.dir}/history.sqlite',
            content=connection.HISTORY))
        self.recorder = Recorder(self.store, self.readings, 45)

    @property
    def balancer(self):
        return self.made(recorder=self.recorder)

    def round(self, seconds=300, volumes=('u', 'v', 'w')):
        """Readings every 15 s for so long, then a round."""
        for _ in range(seconds // 15):
            self.now += 15
            self.readings.take('a', self.now, {
                name: readings.steady(self.now - NOW + 900)
                for name in volumes})
        self.balancer.observer.observe()

    def iops(self, volume, begin=NOW, end=None, step_s=60):
        return self.store.read(
            [readings.place(volume)], begin, end or self.now, step_s).iops[:,
                                                                           0]

    def test_every_round_goes_on_where_the_last_one_ended(self):
        for seconds in (300, 300, 405, 150):
            self.round(seconds)
        self.assertEqual((self.now - 45) // 60 * 60, self.store.until())
        found = self.iops('u', end=self.store.until())
        np.testing.assert_allclose(np.full(18, 1000), found, rtol=1e-4)
        self.assertEqual(
            history_store.TIERS[0].step_s * 18 - 15, self.store.read(
                [readings.place('u')], NOW, self.now, 3600).seconds.sum())

    def test_a_source_that_only_tells_means(self):
        self.recorder = Recorder(self.store)
        for _ in range(3):
            self.now += 300
            self.balancer.observer.observe()
        np.testing.assert_allclose(np.full(15, 2000), self.iops('u'),
                                   rtol=1e-4)
        np.testing.assert_array_equal(np.zeros(15), self.iops('w'))

    def test_what_changes_of_a_volume_changes_nothing_of_its_history(self):
        """Resized, retyped, migrated: the numbers go on."""
        self.round()
        self.cinder = self.cloud([
            record('u', B, size_gib=50.0, volume_type='gold'), record('v')])
        self.round()
        found = self.iops('u', end=self.store.until())
        np.testing.assert_allclose(np.full(9, 1000), found, rtol=1e-4)

    def test_copies_of_migrations_are_left_out(self):
        self.cinder = self.cloud([
            record('u', migration_status='migrating'),
            record('copy', B, migration_status='target:u')])
        self.round(volumes=('u', 'copy'))
        self.assertFalse(np.isnan(self.iops('u')).all())
        self.assertTrue(np.isnan(self.iops('copy')).all())

    @ddt.data(120, 3600, 1e8)
    def test_a_clock_that_is_set_forth(self, seconds):
        self.round()
        self.now += seconds
        self.round()
        self.round()
        found = self.iops('u', begin=self.store.until() - 480,
                          end=self.store.until())
        np.testing.assert_allclose(np.full(8, 1000), found, rtol=1e-4)

    @ddt.data(120, 3600, 1e8)
    def test_a_clock_that_is_set_back(self, seconds):
        """Until it has caught up nothing is written, or it goes on anew."""
        self.round(900)
        self.now -= seconds
        self.readings.taken = {}
        self.round()
        self.assertEqual(seconds > 300, 'lies in the future' in
                         self.log.output)
        self.round()
        self.assertEqual((self.now - 45) // 60 * 60, self.store.until())
        found = self.iops('u', begin=self.store.until() - 300,
                          end=self.store.until())
        np.testing.assert_allclose(np.full(5, 1000), found, rtol=1e-4)
        self.assertLessEqual(self.store.read(
            [readings.place('u')], NOW, NOW + 900, 60).seconds.max(), 60)

    def test_after_a_long_pause_no_more_than_is_kept_is_read(self):
        self.round()
        self.round(2 * 3600)
        self.assertEqual(self.recorder.most_s + 240 - 15, self.store.read(
            [readings.place('u')], NOW, self.now, 60).seconds.sum())

    def test_a_round_goes_on_where_nothing_can_be_written(self):
        self.store.database.file.write_text('no database' * 99)
        self.round()
        self.assertIn('The history of this round is not kept: The history',
                      self.log.output)
        self.assertTrue(self.settings.cluster_file.exists())

    def test_nothing_is_seen(self):
        self.recorder.record(Inventory((), (), ()), [],
                             activity.Observed(0.0, {}, {}, {}, {}))
        self.assertEqual(0, self.store.until())

    def test_a_follower_leaves_a_shared_history_to_the_leader(self):
        self.assertIsNotNone(self.balancer.observer.as_follower().recorder)
        self.recorder = Recorder(history_store.Store(connection.Database(
            'mysql://u@127.0.0.1/history', content=connection.HISTORY)))
        self.assertIsNone(self.balancer.observer.as_follower().recorder)
