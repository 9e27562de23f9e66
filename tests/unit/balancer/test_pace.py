# SPDX-License-Identifier: Apache-2.0
"""When and how fast volumes are moved."""

import ddt
import testtools

from serifos.balancer import pace
from serifos.conf.windows import Window
from serifos.facts.journal import Entry
from serifos.facts import times
from serifos.plan.limits import Copying
from tests.unit.balancer import cloud

USUAL = Copying(10.0, 10.0)
NOON = times.parse('2027-01-15T12:00:00Z')


def windows(texts):
    return tuple(map(Window.parse, texts))


def entry(kind, at, volume, **facts):
    return Entry(times.text(at), kind, {'volume': volume, **facts})


def moved(at, volume, gib, seconds=100.0, result='success',
          status='available', **facts):
    return (entry('request', at, volume, size_gib=gib,
                  seen={'status': status}),
            entry('outcome', at + seconds, volume, result=result,
                  seconds=seconds, **facts))


@ddt.ddt
class PaceTest(testtools.TestCase):

    def test_outside_of_all_windows_it_says_so(self):
        bounds = pace.Pace(windows(['11:00-12:00', 'sat 10:00-18:00']))
        self.assertIsNone(bounds.closed(NOON - 1))
        self.assertEqual(
            'it is Fri 12:00 UTC, outside of [balancer] windows '
            '11:00-12:00, sat 10:00-18:00', bounds.closed(NOON))
        self.assertIsNone(pace.Pace().closed(NOON))

    @ddt.data((100, None, True), (101, None, False), (50, 149, False),
              (50, 150, True))
    @ddt.unpack
    def test_gib_an_hour_and_a_day(self, gib, a_day, fits):
        entries = (*moved(NOON - 40000, 'u', 50), *moved(NOON - 600, 'v', 50))
        found = pace.Pace(max_gib_per_hour=150, max_gib_per_day=a_day)
        self.assertEqual(fits, found.exceeded(gib, entries, NOON) is None)

    def test_what_cinder_refused_was_not_moved(self):
        entries = moved(NOON - 60, 'u', 500, result='refused')
        self.assertEqual(0, pace.moved_gib(entries, NOON - 3600))
        entries = moved(NOON - 60, 'u', 500, result='error')
        self.assertEqual(500, pace.moved_gib(entries, NOON - 3600))

    def test_a_migration_under_way_counts(self):
        self.assertEqual(7, pace.moved_gib(
            moved(NOON - 60, 'u', 7)[:1], NOON - 3600))

    def test_the_rate_is_learnt_from_the_latest_successes(self):
        def rate(entries):
            return pace.learnt(entries, USUAL).detached
        self.assertEqual(USUAL, pace.learnt((), USUAL))
        entries = (*moved(NOON, 'u', 10, 100), *moved(NOON, 'v', 30, 900),
                   *moved(NOON, 'w', 1, 9000, result='error'))
        self.assertEqual(25.0, rate(entries))
        later = [each for _ in range(20) for each in moved(NOON, 'u', 1, 5)]
        self.assertEqual(5.0, rate((*entries, *later)))

    def test_of_volumes_in_use_and_of_wiping_apart(self):
        entries = (*moved(NOON, 'u', 10, 300, copied_s=100.0),
                   *moved(NOON, 'v', 1, 62, copied_s=60.0, status='in-use'))
        self.assertEqual(
            Copying(detached=10.0, attached=60.0, wiping=202 / 11),
            pace.learnt(entries, USUAL))

    def test_cinders_limit_holds_for_detached_volumes(self):
        usual = Copying(10.0, 10.0, limited=64.0)
        self.assertEqual((64.0, 10.0), usual.s_per_gib)
        learnt = pace.learnt(moved(NOON, 'u', 1, 100), usual)
        self.assertEqual((100.0, 10.0), learnt.s_per_gib)


class RoundTest(cloud.Case):
    """u and v are busy on the first pool."""

    def test_outside_of_the_windows_it_only_plans(self):
        self.set(pace=pace.Pace(windows(['00:00-00:01'])))
        self.assertEqual(1, len(self.balancer.round().moves))
        self.assertEqual([], self.cinder.asked)

    def test_a_volume_waits_until_the_hour_has_room_for_it(self):
        self.crowd('abcdef')
        self.set(pace=pace.Pace(max_gib_per_hour=1.5))
        self.rounds(2)
        self.assertEqual(1, len(self.cinder.asked))
        self.assertIn('stays for now: 1 GiB were moved', self.log.output)
        self.rounds(12)
        self.assertEqual(2, len(self.cinder.asked))

    def test_a_volume_larger_than_the_hour_allows_is_refused(self):
        self.cinder.change('u', size_gib=2.0)
        self.set(pace=pace.Pace(max_gib_per_hour=1.5, max_gib_per_day=20.0))
        self.assertIn(
            'its 2 GiB are more than [balancer] max_gib_per_hour, 1.5',
            self.refused()['u'])
        self.assertEqual(['v'], [volume for volume, _ in self.cinder.asked])

    def test_one_larger_than_the_day_allows_moves_where_a_person_asks(self):
        self.set(pace=pace.Pace(max_gib_per_day=0.5))
        self.assertIn('max_gib_per_day, 0.5', self.refused()['u'])
        self.set(auto=False)
        self.assertEqual(1, len(self.balancer.round().moves))

    def test_no_move_of_a_batch_begins_after_the_window(self):
        self.crowd('abcd')
        self.set(batch=4)
        self.now = NOON - 10
        self.set(pace=pace.Pace(windows(['11:59-12:00'])))
        self.balancer.round()
        self.assertEqual(1, len(self.cinder.asked))
        self.assertIn('outside of [balancer] windows 11:59-12:00',
                      self.log.output)

    def test_the_next_plan_knows_how_long_the_last_copy_took(self):
        self.assertEqual(USUAL, self.balancer.limits().copying)
        self.balancer.round()
        facts, = (each.facts for each in self.entries()
                  if each.kind == 'outcome')
        found = self.balancer.limits().copying
        self.assertEqual(facts['copied_s'], found.detached)
        self.assertAlmostEqual(facts['seconds'] - facts['copied_s'],
                               found.wiping)
        self.assertEqual(USUAL.attached, found.attached)

    def test_the_journal_has_what_was_estimated(self):
        self.balancer.round()
        asked, = (each.facts for each in self.entries()
                  if each.kind == 'request')
        self.assertEqual(10.0 * asked['size_gib'], asked['estimated_s'])

    def test_and_what_was_achieved_beside_it(self):
        self.balancer.round()
        facts, = (each.facts for each in self.entries()
                  if each.kind == 'outcome')
        self.assertEqual(10.0, facts['estimated_s'])
        self.assertEqual(round(1024 / facts['copied_s'], 1),
                         facts['mib_per_s'])
