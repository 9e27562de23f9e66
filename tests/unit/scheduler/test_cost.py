# SPDX-License-Identifier: Apache-2.0
"""What one request may cost, in predictions and lines: not in seconds."""

import dataclasses
import random
import types

import ddt
import fixtures
import testtools

from serifos.facts.cluster import Pool
from serifos.model import kinds
from serifos.scheduler import judge
from serifos.scheduler.judge import SchedulerSettings
from serifos.scheduler import pending
from serifos.scheduler import predict
from serifos.scheduler import prediction_cache
from serifos.scheduler import rate_limited_log
from serifos.scheduler.request import Candidate
from serifos.scheduler.request import expected
from serifos.scheduler.request import Request
from tests.unit.scheduler import files

NOW = 1_800_000_000.0
COUNTED = 'counted'


@dataclasses.dataclass
class Counted:
    """As outstanding, but it counts how often it predicts, at some cost.

    Latency grows with reads on half of the devices and with writes on the
    others, so that no order of pools holds for all newcomers.
    """

    cost: float
    asked: int = 0

    def predict(self, load):
        self.asked += 1
        return 100 + 5 * load.sum_q_s_r + 20 * load.sum_q_s_w

    def work(self, load):
        return self.cost

    @property
    def terms(self):
        return 2


class Case(testtools.TestCase):

    pools = 100

    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.FakeLogger())
        self.files = self.useFixture(files.Files())
        self.predictor = Counted(100.0)
        self.patch(kinds, 'predictor', lambda *_: self.predictor)
        self.files.models(files.model('ssd', kind='outstanding'))
        chance = random.Random(1)
        self.names = [f'node{i}@ssd#ssd' for i in range(self.pools)]
        self.volumes = [
            dataclasses.replace(files.volume(
                f'{i}', name, chance.choice((4, 16, 64))), workload=dataclasses
                .replace(files.USUAL, write_pct=chance.uniform(0, 100),
                         block_kib=chance.choice((4, 16, 64))))
            for i, name in enumerate(self.names)]
        self.now = NOW
        self.write()
        self.states = [types.SimpleNamespace(
            backend_id=name, host=name, allocated_capacity_gb=10,
            capabilities={'serifos_model': 'ssd'}) for name in self.names]
        self.serifos = self.make()
        self.settle()

    def make(self, **options):
        values = {'cluster_max_age': 1800, 'newcomer_write_pct': 30,
                  'newcomer_block_kib': 16, 'newcomer_iodepth': 8,
                  'reservation_ttl': 3600,
                  'newcomer_hints': True, **options}
        return judge.Judge(SchedulerSettings(
            str(self.files.dir), str(self.files.models_dir), **values),
            lambda: self.now, rate_limited_log.RateLimitedLog())

    def settle(self):
        """Asks until all is predicted."""
        self.predictor.asked = 1
        while self.predictor.asked:
            self.predictor.asked = 0
            self.judge()

    def write(self, later=0):
        """The balancer observes what it did before."""
        self.files.cluster([Pool(name, 'ssd') for name in self.names],
                           self.volumes, now=self.now + later)

    def request(self, number=0, hints=(), **facts):
        return Request('create_volume', f'new-{number}', 10.0,
                       hints=dict(hints), **facts)

    def judge(self, number=0, hints=(), **facts):
        return self.serifos.judge(self.serifos.observe(
            [self.request(number, hints, **facts)], self.states))

    def newcomer(self, hints=()):
        return expected(
            self.request(hints=hints), None, files.USUAL, lambda text: None)

    def record(self, number, index, newcomer):
        placement = judge.Placement(
            [self.request(number)], [newcomer],
            [Candidate.of(self.states[index], None)], self.now)
        self.serifos.record(placement, placement.candidates[0])

    def place(self, number, hints=()):
        """Asks, and goes where it is fastest."""
        found = self.judge(number, hints)
        best = min(range(self.pools), key=lambda i: found[
            i].latency_us if found[i] else 1e9)
        self.record(number, best, self.newcomer(hints))
        return self.states[best].host, found

    def hostile(self, i):
        """A hint like no other: beyond reason, huge, nested or absurd."""
        return {'serifos:write_pct': f'{i * 7 % 101}.{i}',
                'serifos:block_kib': (4 + i, '1' * 10**5, 60000 - i)[i % 3],
                'serifos:iodepth': (1 + i, 65000 - i, [[{'x': i}]])[i % 3],
                'x' * 99: [i]}

    def exact(self, index, newcomer):
        asked = self.predictor.asked
        view = files.view([Pool(self.names[index], 'ssd')],
                          [self.volumes[index]],
                          ssd=files.model('ssd', kind='outstanding'))
        load = view.load(view.place(self.names[index], 'ssd'))
        self.predictor.asked = asked
        return self.predictor.predict(
            load + view.models['ssd'].load([newcomer]))

    @property
    def most(self):
        """Predictions that one request may take."""
        allowed = (prediction_cache.WORK
                   + prediction_cache.WORK_EACH * self.pools)
        return 2 + allowed / (self.predictor.cost + prediction_cache.OVERHEAD)


@ddt.ddt
class PredictionsTest(Case):

    @ddt.data(100.0, 5000.0, 1e9)
    def test_an_unseen_hint_costs_no_more_than_is_allowed(self, cost):
        self.predictor.cost = cost
        for i in range(25):
            self.predictor.asked = 0
            found = self.judge(i, self.hostile(i))
            self.assertTrue(all(found))
            self.assertLessEqual(self.predictor.asked, self.most)

    def test_requests_of_a_kind_go_on_where_the_last_one_stopped(self):
        hint = {'serifos:block_kib': 64}
        for i in range(40):
            self.predictor.asked = 0
            self.judge(i, hint)
        self.assertEqual(0, self.predictor.asked)
        self.predictor.asked = 0
        # Another cloud's worth of hints does not push it out at this size.
        for i in range(40):
            self.judge(i, self.hostile(i))
        self.predictor.asked = 0
        self.judge(0, hint)
        self.assertEqual(0, self.predictor.asked)

    def test_a_placement_makes_one_device_new(self):
        self.place(0)
        self.predictor.asked = 0
        self.judge(1)
        self.assertEqual(1, self.predictor.asked)

    def test_ten_thousand_reservations_cost_what_one_does(self):
        newcomers = [self.newcomer(self.hostile(i)) for i in range(500)]
        for i in range(10000):
            self.record(i, i % 50, newcomers[i % 500])
        for i in range(3):
            self.predictor.asked = 0
            self.judge(20000 + i, self.hostile(i))
            self.assertLessEqual(self.predictor.asked, self.most)
        for _ in range(40):
            self.judge(30000)
        self.predictor.asked = 0
        self.place(30001)
        self.judge(30002)
        self.assertLessEqual(self.predictor.asked, 2 + pending.MOST_IN_POOL)

    def test_a_new_file_makes_the_next_requests_no_dearer(self):
        for i in range(10):
            self.place(i, self.hostile(i))
        self.write(1)
        for i in range(20):
            self.predictor.asked = 0
            self.judge(i, self.hostile(i % 10))
            self.assertLessEqual(self.predictor.asked, self.most)

    def test_the_best_is_never_an_estimate(self):
        """Whatever is asked for, its best place was predicted exactly."""
        self.predictor.cost = 3000.0  # three predictions a request
        for i in range(30):
            hint = {'serifos:write_pct': 5 * (i % 21),
                    'serifos:block_kib': 2 ** (i % 9)}
            found = self.judge(i, hint)
            best = min(p.latency_us for p in found)
            exact = {self.exact(j, self.newcomer(hint).workload)
                     for j, p in enumerate(found)
                     if p.latency_us == best}
            self.assertIn(best, exact)

    def test_estimates_are_near_what_they_stand_for(self):
        hint = {'serifos:block_kib': 64}
        found = self.judge(0, hint)
        its = self.newcomer(hint).workload
        for i, prediction in enumerate(found):
            exact = self.exact(i, its)
            self.assertLess(abs(prediction.latency_us / exact - 1), 0.05)


class PendingTest(Case):

    pools = 20

    def test_the_oldest_of_too_many_makes_way(self):
        self.patch(pending, 'MOST', 400)
        for i in range(pending.MOST + 30):
            self.record(i, i % 20, self.newcomer())
        predicted = self.judge(99999)
        most = predict.Prediction(
            100 + (1 + pending.MOST / 20 + 1) * 8 * 64 * 20, 0.0)
        self.assertLessEqual(max(p.latency_us for p in predicted),
                             most.latency_us)

    def test_many_that_end_at_once_end_in_several_requests(self):
        for i in range(1500):
            self.record(i, i % 20, self.newcomer())
        alone = [self.exact(i, self.newcomer().workload) for i in range(20)]
        self.now += 3601
        self.write()
        worst = []
        for i in range(6):
            found = self.judge(5000 + i)
            worst.append(max(p.latency_us for p in found))
        self.assertEqual(sorted(worst, reverse=True), worst)
        self.assertEqual(max(alone), worst[-1])
