# SPDX-License-Identifier: Apache-2.0
"""Entries of the journal: their meaning, and what is refused."""

import datetime

import ddt
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies
import testtools

from serifos.balancer import plans
from serifos.facts import journal
from tests.unit.database import plans_behaviour

REQUEST = {'source': 'a', 'target': 'b', 'plan': 'p', 'size_gib': 1}
OUTCOME = {'reason': '', 'source': 'a', 'target': 'b', 'seconds': 1.0}


class Case(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.now = 1_800_000_000.0
        self.entries = []

    def after(self, delay, kind, /, **facts):
        self.now += delay
        at = datetime.datetime.fromtimestamp(self.now, datetime.UTC)
        self.entries.append(journal.Entry.checked(at.isoformat(), kind, facts))
        return self.entries[-1]

    def outcome(self, result, volume='v'):
        return self.after(1, 'outcome', volume=volume, result=result,
                          **OUTCOME)


@ddt.ddt
class RefusedTest(testtools.TestCase):

    @ddt.data(
        ({'kind': 'nap'}, "kind is 'nap', not request or"),
        ({'kind': ['pause']}, 'kind is a list, not'),
        ({'at': 'noon'}, "at is 'noon', not an ISO 8601 time"),
        ({'at': '2026-11-20T12:00:00'}, 'not an ISO 8601 time with a zone'),
        ({'at': 5}, 'at is 5, not an ISO 8601 time'),
        ({'size_gib': float('nan')}, 'size_gib is nan, not a number from 0'),
        ({'size_gib': 1e400}, 'size_gib is inf, not a number'),
        ({'size_gib': 10 ** 400}, 'not a number'),
        ({'size_gib': True}, 'size_gib is true, not a number'),
        ({'size_gib': -1}, 'size_gib is -1, not a number from 0'),
        ({'size_gib': '1'}, "size_gib is '1', not a number"),
        ({'volume': None}, 'volume is null, not a printable name'),
        ({'volume': 'a\nb'}, 'not a printable name'),
        ({'source': {}}, 'source is an object'))
    @ddt.unpack
    def test_a_request(self, changes, said):
        doc = {'at': '2026-11-20T12:00:00Z', 'kind': 'request',
               'volume': 'v', **REQUEST, **changes}
        error = self.assertRaises(ValueError, journal.Entry.from_json, doc)
        self.assertIn(said, str(error))

    @ddt.data(({}, 'at is null'), ([], 'not an object'),
              (5, 'not an object'),
              ({'at': '2026-11-20T12:00:00Z'}, 'kind is null'),
              ({'at': '2026-11-20T12:00:00Z', 'kind': 'accepted'},
               'volume is null'))
    @ddt.unpack
    def test_what_is_not_there(self, doc, said):
        error = self.assertRaises(ValueError, journal.Entry.from_json, doc)
        self.assertIn(said, str(error))

    @ddt.data(('back-off', 'until', 'soon'), ('outcome', 'seconds', 'x'),
              ('outcome', 'reason', 5), ('pause', 'reason', None))
    @ddt.unpack
    def test_a_fact(self, kind, name, value):
        facts = {'volume': 'v', 'result': 'error', 'until': 'x', **OUTCOME}
        error = self.assertRaises(
            ValueError, journal.Entry.checked, '2026-11-20T12:00:00Z', kind,
            {**facts, name: value})
        self.assertIn(name, str(error))

    def test_what_more_an_entry_tells_is_kept(self):
        doc = {'at': '2026-11-20T12:00:00Z', 'kind': 'accepted',
               'volume': 'v', 'more': [1]}
        self.assertEqual(doc, journal.Entry.from_json(doc).to_json())


@ddt.ddt
class MeaningTest(Case):

    def test_a_request_is_open_until_its_outcome(self):
        asked = self.after(0, 'request', volume='v', **REQUEST)
        self.after(1, 'accepted', volume='v')
        other = self.after(1, 'request', volume='w', **REQUEST)
        self.assertEqual((asked, other),
                         journal.open_moves(self.entries))
        self.outcome('success')
        self.assertEqual((other,), journal.open_moves(self.entries))

    def test_a_cool_down_counts_from_the_success(self):
        self.outcome('error')
        self.assertEqual({}, journal.last_moves(self.entries))
        self.outcome('success')
        self.assertEqual({'v': self.now},
                         journal.last_moves(self.entries))
        # It may have moved: Cinder goes on when we wait no longer.
        self.outcome('timeout')
        self.assertEqual({'v': self.now},
                         journal.last_moves(self.entries))

    def test_the_last_outcome(self):
        self.assertEqual(0, journal.last_outcome(self.entries))
        self.outcome('error')
        ended = self.now
        for result in 'not started', 'refused', 'denied', 'busy':
            self.outcome(result)
        self.assertEqual(ended, journal.last_outcome(self.entries))

    def test_a_back_off_ends(self):
        self.after(0, 'back-off', volume='v', until='2027-01-15T08:10:00Z')
        entries = self.entries
        self.assertEqual({'v': 1_800_000_600.0},
                         journal.back_offs(entries, self.now + 599))
        self.assertEqual({}, journal.back_offs(entries, self.now + 600))

    @ddt.data(
        (['error', 'recovered', 'timeout'], 3),
        (['denied', 'refused', 'denied', 'busy'], 2),
        (['error', 'success', 'error'], 1),
        (['error', 'not started', 'gone', 'error'], 2), ([], 0))
    @ddt.unpack
    def test_failures_in_a_row(self, results, count):
        for result in results:
            self.outcome(result)
        self.assertEqual(
            count, journal.failures_in_a_row(self.entries))

    def test_a_resume_forgives(self):
        self.outcome('error')
        self.after(1, 'pause', reason='1 failure')
        self.assertTrue(journal.paused(self.entries))
        self.after(1, 'resume', reason='')
        entries = self.entries
        self.assertFalse(journal.paused(entries))
        self.assertEqual(0, journal.failures_in_a_row(entries))

    def test_failures_are_counted_for_each_volume(self):
        for volume in 'vvw':
            self.outcome('error', volume)
        entries = self.entries
        self.assertEqual([2, 1], [
            journal.failures_of(entries, volume) for volume in 'vw'])


ENTRIES = strategies.lists(strategies.builds(
    lambda at, kind, volume, result, until, plan: journal.Entry(
        f'2027-01-15T08:{at:02}:00Z', kind,
        {} if kind in ('pause', 'resume') else {
            'plan': plan, 'by': 'anna'} if kind in ('approve', 'cancel') else {
            'volume': volume, 'result': result, **REQUEST, 'plan': plan,
            'reason': '',
            'until': f'2027-01-15T08:{until:02}:00Z'}),
    strategies.integers(0, 59), strategies.sampled_from(
        'request request outcome outcome outcome back-off pause resume '
        'recover approve cancel'
        .split()),
    strategies.sampled_from('uvw'), strategies.sampled_from(
        ['success', 'error', 'timeout', 'not started', 'gone', 'begun']),
    strategies.integers(0, 59), strategies.sampled_from('pq')), max_size=40)

PLANS = [plans_behaviour.plan(name) for name in 'pq']


def of_approved(entries):
    """What became of the moves of plans that are approved."""
    return [(each.plan.id, each.approved_by, each.outcomes) for each
            in plans.standings(PLANS, entries, plans_behaviour.NOW)
            if each.approved_by]


class ShortenedTest(testtools.TestCase):

    @settings(max_examples=100, deadline=None)
    @given(ENTRIES, strategies.integers(0, 20))
    def test_every_question_has_the_same_answer(self, entries, newest):
        entries = tuple(sorted(entries, key=lambda entry: entry.at))
        questions = [
            journal.open_moves, journal.open_recoveries, journal.last_moves,
            journal.last_outcome,
            journal.failures_in_a_row, journal.paused, of_approved,
            lambda e: journal.back_offs(e, 1_800_000_000.0),
            *(lambda e, v=v: journal.failures_of(e, v) for v in 'uvw')]
        kept = entries
        for _ in range(2):
            kept = journal.still_matter(kept, newest)
            for ask in questions:
                self.assertEqual(ask(entries), ask(kept))
