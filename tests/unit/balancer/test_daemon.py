# SPDX-License-Identifier: Apache-2.0
import threading
import time

import ddt
import fixtures
from oslo_config import cfg

from serifos.balancer import daemon
from serifos.balancer import leader
from serifos import errors
from tests.unit.balancer import cloud
from tests.unit import case


@ddt.ddt
class DaemonTest(cloud.Case):

    def setUp(self):
        super().setUp()
        self.url = f'file://{self.settings.state_dir}/lock'
        self.set(interval_s=0.05)
        self.readings = 0
        self.results = []

    def read(self):
        self.readings += 1

    def make(self, pause):
        def simulated(seconds):
            self.now += seconds
            return pause(0.001)
        return self.made(simulated)

    def start(self, make=None, reader=None):
        made = daemon.Daemon(make or self.make, reader or (
            lambda stopped: (self.read, 0.05)), lambda: self.url,
            self.results.append)
        made.start()
        self.addCleanup(made.wait)
        self.addCleanup(made.stop)
        return made

    def test_it_moves_and_reads_until_it_is_told_to_stop(self):
        made = self.start()
        case.wait_until(lambda: self.kinds()[-1:] == ['outcome'])
        case.wait_until(lambda: self.readings > 1)
        made.stop()
        made.wait()
        rounds = self.settings.cluster_file.stat().st_mtime_ns
        time.sleep(0.2)
        self.assertEqual(rounds,
                         self.settings.cluster_file.stat().st_mtime_ns)

    def test_a_stop_leaves_the_migration_to_whoever_comes_next(self):
        self.cinder.gib_per_s = 1e-6
        made = self.start()
        case.wait_until(lambda: self.kinds()[-1:] == ['accepted'])
        made.stop()
        made.wait()
        self.assertEqual(['request', 'accepted'], self.kinds())
        self.assertEqual('migrating',
                         self.cinder.volume('u').migration_status)

    def test_another_one_only_observes(self):
        other = leader.Lead(self.url, self.journal(), 'auto')
        self.addCleanup(other.give_back)
        self.assertTrue(other.take())
        self.start()
        case.wait_until(self.settings.cluster_file.exists)
        first = self.settings.cluster_file.stat().st_mtime_ns
        case.wait_until(
            lambda: self.settings.cluster_file.stat().st_mtime_ns > first)
        self.assertEqual([], self.cinder.asked)
        case.wait_until(lambda: 'followed' in self.results)
        self.assertNotIn('planned', self.results)
        other.give_back()
        case.wait_until(lambda: self.cinder.asked)
        case.wait_until(lambda: 'planned' in self.results)

    def test_a_round_that_fails_is_not_the_last(self):
        self.cinder.answers = False
        failed = threading.Event()

        def make(pause):
            failed.set()
            return self.make(pause)
        self.start(make)
        self.assertTrue(failed.wait(case.PATIENCE_S))
        case.wait_until(lambda: self.results)
        self.assertEqual('failed', self.results[0])
        self.cinder.answers = True
        case.wait_until(lambda: self.cinder.asked)

    @ddt.data(errors.InputError('It cannot be used.'),
              cfg.ConfigFileValueError('not an int'), ValueError())
    def test_a_setting_that_cannot_be_used_is_not_the_last(self, fault):
        self.useFixture(fixtures.MonkeyPatch(
            'serifos.balancer.daemon.RETRY_S', 0.05))
        faults = {'make': [fault], 'read': [fault]}

        def make(pause):
            if faults['make']:
                raise faults['make'].pop()
            return self.make(pause)

        def reader(stopped):
            if faults['read']:
                raise faults['read'].pop()
            return self.read, 0.05
        self.start(make, reader)
        case.wait_until(lambda: self.cinder.asked)
        case.wait_until(lambda: self.readings)

    def test_a_damaged_journal_is_told_once(self):
        self.shared.file.write_text('Shopping: milk, eggs.\n' * 100)
        self.start()
        case.wait_until(lambda: len(self.results) > 3)
        self.assertEqual(1, self.log.output.count('is damaged'))
        self.assertIn('nothing is requested from Cinder', self.log.output)
        self.shared.file.unlink()
        case.wait_until(lambda: self.cinder.asked)

    def test_a_journal_that_vanishes_under_it(self):
        self.crowd('abcdefgh')
        self.set(cool_down_s=0.0)
        self.start()
        case.wait_until(lambda: self.kinds()[-1:] == ['outcome'])
        self.shared.file.unlink()
        case.wait_until(lambda: 'pause' in self.kinds())
        asked, made = len(self.cinder.asked), self.results.count('planned')
        case.wait_until(lambda: self.results.count('planned') > made + 2)
        self.assertEqual(asked, len(self.cinder.asked))
        self.journal().write('resume', reason='a person')
        case.wait_until(lambda: len(self.cinder.asked) > asked)

    def test_somebody_else_takes_the_readings(self):
        self.start(reader=lambda stopped: (None, 0.05))
        case.wait_until(lambda: self.cinder.asked)
        self.assertEqual(0, self.readings)

    def test_advice_leaves_the_lock_to_others(self):
        self.set(auto=False)
        self.start()
        case.wait_until(self.settings.cluster_file.exists)
        with leader.Lead(self.url, self.journal(), 'auto'):
            pass
        self.assertEqual([], self.cinder.asked)
