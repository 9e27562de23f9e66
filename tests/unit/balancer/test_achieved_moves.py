# SPDX-License-Identifier: Apache-2.0
"""What moves achieved in the hours after them."""

import ddt
import testtools

from serifos.balancer import achieved_moves
from serifos.balancer.recorder import Accuracy
from serifos.database import connection
from serifos.database.pool_errors import PoolErrors
from serifos.facts.journal import Entry
from serifos.facts import pool_errors
from serifos.facts import times
from serifos.plan.plan import Move
from tests.unit.balancer import cloud
from tests.unit.balancer.cloud import A

HOUR = pool_errors.HOUR_S
BEGIN = 1_800_000_000 // HOUR * HOUR


def entry(at, kind, volume='v', **facts):
    return Entry.checked(times.text(BEGIN + at), kind,
                         {'volume': volume, **facts})


def moved(at, source='a', target='b', volume='v', result='success', **facts):
    """A migration that took a minute and ended then."""
    ends = {'source': source, 'target': target}
    return [entry(at - 60, 'request', volume, plan='p', size_gib=1, **ends,
                  **facts),
            entry(at, 'outcome', volume, result=result, reason='', seconds=1,
                  **ends)]


def due(entries, at):
    return [found.request.facts['volume']
            for found in achieved_moves.due(entries, BEGIN + at)]


def hours(**latencies):
    """Pool → of each hour from the first one what it showed, or None."""
    return {pool: [pool_errors.Hour(BEGIN + nth * HOUR, 2, 2 * us, 2.0)
                   for nth, us in enumerate(each) if us is not None]
            for pool, each in latencies.items()}


@ddt.ddt
class DueTest(testtools.TestCase):

    @ddt.data((0, []), (4 * HOUR - 1, []), (4 * HOUR, ['v']),
              (24 * HOUR, ['v']), (25 * HOUR, []))
    @ddt.unpack
    def test_three_whole_hours_after_it(self, at, found):
        self.assertEqual(found, due(moved(600), at))

    def test_it_is_told_once(self):
        told = entry(4 * HOUR, 'achieved', source='a', target='b', hours=3)
        self.assertEqual([], due([*moved(600), told], 5 * HOUR))
        again = moved(6 * HOUR, 'b', 'a')
        self.assertEqual(['v'], due([*moved(600), told, *again], 10 * HOUR))

    def test_one_that_failed_achieved_nothing(self):
        self.assertEqual([], due(moved(600, result='error'), 5 * HOUR))

    def test_another_that_touches_its_pools_ends_it(self):
        first = moved(600)
        self.assertEqual(['v'], due(
            [*first, *moved(2 * HOUR, 'c', 'a', 'w')], 2 * HOUR))
        self.assertEqual([], due(
            [*first, *moved(2 * HOUR, 'c', 'd', 'w')], 2 * HOUR))


class AchievedTest(testtools.TestCase):

    def told(self, entries, at=5 * HOUR, **latencies):
        return list(achieved_moves.results(
            achieved_moves.due(entries, BEGIN + at), hours(**latencies)))

    def test_the_mean_of_the_hours_beside_the_predictions(self):
        facts, = self.told(
            moved(600, predicted_source_us=300.0, predicted_target_us=500.0),
            a=[9, 300, 310, 320, 9], b=[9, None, 480, 520, 9])
        self.assertEqual({
            'volume': 'v', 'source': 'a', 'target': 'b', 'hours': 2,
            'predicted_source_us': 300.0, 'predicted_target_us': 500.0,
            'source_us': 310, 'target_us': 500}, facts)
        self.assertEqual('in 2 h after it b had 0.5 ms (0.5 predicted), '
                         'a had 0.31 ms (0.3 predicted)',
                         achieved_moves.clause(facts))
        Entry.checked(times.text(BEGIN), 'achieved', facts)

    def test_a_source_that_is_empty_then(self):
        facts, = self.told(moved(600), b=[None, 480])
        self.assertEqual((None, 480), (facts['source_us'],
                                       facts['target_us']))
        self.assertEqual('in 1 h after it b had 0.48 ms',
                         achieved_moves.clause(facts))

    def test_what_was_not_seen_is_not_told(self):
        self.assertEqual([], self.told(moved(600), a=[1, 2, 3, 4], b=[7]))

    def test_hours_after_another_move_are_none_of_this_one(self):
        facts, = self.told([*moved(600), *moved(2.5 * HOUR, 'c', 'b', 'w')],
                           b=[None, 480, 900, 900])
        self.assertEqual((1, 480), (facts['hours'], facts['target_us']))

    def test_the_predictions_of_a_move(self):
        move = Move('v', 'a', 'b', 1, None, None, 10, 12.345, 'why')
        self.assertEqual({'predicted_source_us': None,
                          'predicted_target_us': 12.3},
                         achieved_moves.predicted(move))


class RoundsTest(cloud.Case):

    @property
    def balancer(self):
        return self.made(accuracy=Accuracy(
            PoolErrors(connection.Database(
                f'sqlite:///{self.dir}/history.sqlite',
                content=connection.HISTORY))))

    def test_it_is_in_the_journal_some_hours_later(self):
        self.cinder = self.cloud(
            [cloud.record('u'), cloud.record('v')],
            {'u': cloud.busy(64, 960), 'v': cloud.busy(32, 960)},
            (A, cloud.B))
        self.balancer.round()
        asked = self.entries()[0].facts
        self.assertEqual((320.0, 640.0), (asked['predicted_source_us'],
                                          asked['predicted_target_us']))
        for _ in range(20):
            self.now += 900
            self.balancer.round()
        told, = [each.facts for each in self.entries()
                 if each.kind == 'achieved']
        self.assertEqual(('u', A, 3), (
            told['volume'], told['source'], told['hours']))
        self.assertEqual((320.0, 640.0, 960.0, 960.0), tuple(
            told[name] for name in (
                'predicted_source_us', 'predicted_target_us',
                'source_us', 'target_us')))
        self.assertIn('Volume u was moved: in 3 h after it', self.log.output)
