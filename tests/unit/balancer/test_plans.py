# SPDX-License-Identifier: Apache-2.0
"""What a balancer does at present, and what became of its plans."""

import dataclasses

import ddt
import testtools

from serifos.balancer import pace
from serifos.balancer.plans import standings
from serifos.balancer.status import Status
from serifos.conf.windows import Window
from serifos.facts.journal import Entry
from serifos.facts import times
from tests.fakes import settings
from tests.unit.database.plans_behaviour import DAY
from tests.unit.database.plans_behaviour import NOW
from tests.unit.database.plans_behaviour import plan

SETTINGS = settings.balancer('/state', '/models', auto=True, settle_s=100.0)


def entry(ago_s, kind, volume=None, **facts):
    return Entry.checked(
        times.text(NOW - ago_s), kind,
        facts if volume is None else {'volume': volume, **facts})


def request(ago_s, volume='v', plan_id='one', **facts):
    return entry(ago_s, 'request', volume, source='a', target='b',
                 plan=plan_id, size_gib=10.0, **facts)


def outcome(ago_s, result, volume='v'):
    return entry(ago_s, 'outcome', volume, result=result, reason='so',
                 source='a', target='b', seconds=5.0)


def status(*entries, observed_at=NOW - 60, settings=SETTINGS):
    return Status.of(settings, entries, observed_at, NOW)


@ddt.ddt
class StatusTest(testtools.TestCase):

    @ddt.data((60, 240, False), (300, 0, False), (359, -59, False),
              (361, -61, True))
    @ddt.unpack
    def test_rounds(self, ago_s, next_s, late):
        seen = status(observed_at=NOW - ago_s)
        self.assertEqual((ago_s, next_s, late), (
            seen.observed_s, seen.next_s, seen.overdue))

    def test_no_round_yet(self):
        seen = status(observed_at=None)
        self.assertEqual((None, None, False), (
            seen.observed_s, seen.next_s, seen.overdue))

    def test_what_is_in_flight(self):
        seen = status(request(900, 'u'), outcome(800, 'success', 'u'),
                      request(60, 'v', estimated_s=100.0),
                      request(200, 'w', estimated_s=100.0), request(30, 'x'))
        self.assertEqual(
            [('v', 60, 40, 0.1), ('w', 200, -100, 0.1), ('x', 30, None, None)],
            [(each.volume, each.since_s, each.left_s, each.gib_per_s)
             for each in seen.in_flight])

    def test_a_copy_is_as_fast_as_its_counters_say(self):
        entries = request(60, 'v', estimated_s=100.0), request(30, 'w')
        seen = Status.of(SETTINGS, entries, NOW - 9, NOW,
                         {'v': 0.05, 'w': 0.0})
        self.assertEqual(
            [('v', 140, 0.05, True), ('w', None, None, False)],
            [(each.volume, each.left_s, each.gib_per_s, each.measured)
             for each in seen.in_flight])

    def test_the_last_day(self):
        seen = status(
            request(2 * DAY, 'u'), outcome(1.9 * DAY, 'success', 'u'),
            request(DAY + 60, 'v'), outcome(DAY - 60, 'success'),
            request(900, 'w'), outcome(800, 'error', 'w'),
            entry(800, 'back-off', 'w', until=times.text(NOW + 60)))
        self.assertEqual(
            ({'success': 1, 'error': 1}, 10, 1, 1),
            (seen.done, seen.moved_gib, seen.backing_off, seen.failures))

    def test_a_pause_and_its_end(self):
        pause = entry(50, 'pause', reason='3 failures in a row')
        self.assertEqual(('3 failures in a row', times.text(NOW - 50)),
                         status(pause).paused)
        self.assertIsNone(status(
            pause, entry(10, 'resume', reason='done')).paused)

    def test_why_it_waits(self):
        self.assertEqual((), status().waits)
        slow = dataclasses.replace(SETTINGS, pace=pace.Pace(
            windows=(Window.parse('00:00-00:01'),), max_gib_per_hour=5.0))
        found = status(request(90), outcome(60, 'success'), settings=slow)
        for words, clause in zip(
                ('outside of [balancer] windows', 'max_gib_per_hour',
                 'ended 60 s ago, and 100 s'), found.waits, strict=True):
            self.assertIn(words, clause)


class StandingsTest(testtools.TestCase):

    def states(self, plans, *entries):
        return {each.plan.id: (each.state, each.made)
                for each in standings(plans, entries, NOW)}

    def test_what_became_of_plans(self):
        plans = [plan('expired', NOW - 2 * DAY), plan('old', NOW - 100),
                 plan('done', NOW - 90), plan('moving', NOW - 80, volume='w'),
                 plan('failed', NOW - 70, volume='x'), plan('new', NOW - 9)]
        self.assertEqual(
            {'new': ('valid', 0), 'failed': ('superseded', 0),
             'moving': ('under way', 0), 'done': ('carried out', 1),
             'old': ('superseded', 0), 'expired': ('expired', 0)},
            self.states(
                plans, request(60, 'v', 'done'), outcome(50, 'success'),
                request(40, 'w', 'moving'), request(40, 'x', 'failed'),
                outcome(30, 'error', 'x')))

    def test_the_newest_is_the_first(self):
        found = standings(
            [plan('a', NOW - 9), plan('b', NOW - 2)], (), NOW)
        self.assertEqual(['b', 'a'], [each.plan.id for each in found])

    def test_an_expired_one_supersedes_none(self):
        self.assertEqual(
            {'long': ('valid', 0), 'short': ('expired', 0)},
            self.states([plan('long', NOW - 50, ttl=DAY),
                         plan('short', NOW - 20, ttl=10)]))
