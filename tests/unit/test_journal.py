# SPDX-License-Identifier: Apache-2.0
import pathlib
import tempfile

import ddt
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import testtools

from serifos import errors
from serifos import journal as jn

REQUEST = {'source': 'a', 'target': 'b', 'plan': 'p', 'size_gib': 1}


class Case(testtools.TestCase):

    def setUp(self):
        super().setUp()
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = pathlib.Path(directory.name, 'journal.jsonl')
        self.now = 1_800_000_000.0
        self.journal = jn.Journal(self.path, lambda: self.now)

    def after(self, seconds, kind, **facts):
        self.now += seconds
        return self.journal.write(kind, **facts)

    def outcome(self, result, volume='v'):
        return self.after(1, 'outcome', volume=volume, result=result)


@ddt.ddt
class FileTest(Case):

    def test_what_is_written_is_read_again(self):
        one = self.after(0, 'request', volume='v', **REQUEST)
        two = self.after(1, 'accepted', volume='v')
        again = jn.Journal(self.path, lambda: 0)
        self.assertEqual((one, two), again.entries())
        self.assertEqual('2027-01-15T08:00:00.000Z', one.at)
        self.assertEqual(0o640, self.path.stat().st_mode & 0o777)

    def test_nothing_yet(self):
        self.assertEqual((), self.journal.entries())
        self.assertFalse(self.path.exists())

    @ddt.data(1, 10, 40)
    def test_a_line_that_was_cut_short_never_happened(self, cut):
        one = self.after(0, 'request', volume='v', **REQUEST)
        self.after(1, 'accepted', volume='v')
        text = self.path.read_bytes()
        self.path.write_bytes(text[:-cut])
        self.assertEqual((one,), self.journal.entries())
        two = self.after(1, 'refused', volume='v', reason='no')
        self.assertEqual((one, two), self.journal.entries())

    @ddt.data(
        ('{"schema": "serifos-journal/2"}\n', 'serifos-journal/1'),
        ('{}\n', 'serifos-journal/1'), ('x\n', 'line 1'), ('[]\n', 'line 1'),
        ('{"schema": "serifos-journal/1"}\nx\n', 'line 2'),
        ('{"schema": "serifos-journal/1"}\n{"at": "x"}\n', "no 'kind'"))
    @ddt.unpack
    def test_what_is_no_journal_is_refused(self, text, said):
        self.path.write_text(text)
        error = self.assertRaises(errors.FormatError, jn.read, self.path)
        self.assertIn(said, str(error))

    def test_a_place_that_cannot_be_written(self):
        journal = jn.Journal(self.path.parent / 'no' / 'such', lambda: 0)
        error = self.assertRaises(errors.InputError, journal.write, 'pause')
        self.assertIn('cannot be written', str(error))


@ddt.ddt
class MeaningTest(Case):

    def test_a_request_is_open_until_its_outcome(self):
        asked = self.after(0, 'request', volume='v', **REQUEST)
        self.after(1, 'accepted', volume='v')
        other = self.after(1, 'request', volume='w', **REQUEST)
        self.assertEqual((asked, other),
                         jn.open_moves(self.journal.entries()))
        self.outcome('success')
        self.assertEqual((other,), jn.open_moves(self.journal.entries()))

    def test_a_cool_down_counts_from_the_success(self):
        self.outcome('error')
        self.assertEqual({}, jn.last_moves(self.journal.entries()))
        self.outcome('success')
        self.assertEqual({'v': self.now},
                         jn.last_moves(self.journal.entries()))
        # It may have moved: Cinder goes on when we wait no longer.
        self.outcome('timeout')
        self.assertEqual({'v': self.now},
                         jn.last_moves(self.journal.entries()))

    def test_the_last_outcome(self):
        self.assertEqual(0, jn.last_outcome(self.journal.entries()))
        self.outcome('error')
        ended = self.now
        for result in 'not started', 'refused', 'denied', 'busy':
            self.outcome(result)
        self.assertEqual(ended, jn.last_outcome(self.journal.entries()))

    def test_a_back_off_ends(self):
        self.after(0, 'back-off', volume='v', until='2027-01-15T08:10:00Z')
        entries = self.journal.entries()
        self.assertEqual({'v': 1_800_000_600.0},
                         jn.back_offs(entries, self.now + 599))
        self.assertEqual({}, jn.back_offs(entries, self.now + 600))

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
            count, jn.failures_in_a_row(self.journal.entries()))

    def test_a_resume_forgives(self):
        self.outcome('error')
        self.after(1, 'pause', reason='1 failure')
        self.assertTrue(jn.paused(self.journal.entries()))
        self.after(1, 'resume', reason='')
        entries = self.journal.entries()
        self.assertFalse(jn.paused(entries))
        self.assertEqual(0, jn.failures_in_a_row(entries))

    def test_failures_are_counted_for_each_volume(self):
        for volume in 'vvw':
            self.outcome('error', volume)
        entries = self.journal.entries()
        self.assertEqual([2, 1], [
            jn.failures_of(entries, volume) for volume in 'vw'])


class LengthTest(Case):

    def test_a_long_journal_is_shortened_and_forgets_nothing(self):
        journal = jn.Journal(self.path, lambda: self.now, long_bytes=20_000)
        asked = journal.write('request', volume='open', **REQUEST)
        for number in range(500):
            self.now += 1
            volume = f'v{number % 7}'
            journal.write('request', volume=volume, **REQUEST)
            journal.write('outcome', volume=volume, result='success')
            self.assertLess(self.path.stat().st_size, 21_000)
            entries = journal.entries()
            self.assertEqual((asked,), jn.open_moves(entries))
            self.assertEqual(self.now, jn.last_moves(entries)[volume])
        self.assertEqual(7, len(jn.last_moves(entries)))
        self.assertEqual(0o640, self.path.stat().st_mode & 0o777)
        before = jn.read(self.path.with_name('journal.jsonl.1'))
        self.assertIn(asked, before)

    def test_what_cannot_be_shortened_is_not_tried_at_every_write(self):
        journal = jn.Journal(self.path, lambda: self.now, long_bytes=1000)
        for number in range(60):
            journal.write('request', volume=f'v{number}', **REQUEST)
        before = self.path.with_name('journal.jsonl.1').stat().st_size
        self.assertGreater(before, 2000)
        self.assertEqual(60, len(journal.entries()))


ENTRIES = st.lists(st.builds(
    lambda at, kind, volume, result, until: jn.Entry(
        f'2027-01-15T08:{at:02}:00Z', kind,
        {} if kind in ('pause', 'resume') else {
            'volume': volume, 'result': result, **REQUEST,
            'until': f'2027-01-15T08:{until:02}:00Z'}),
    st.integers(0, 59), st.sampled_from(
        'request outcome outcome outcome back-off pause resume'.split()),
    st.sampled_from('uvw'), st.sampled_from(
        ['success', 'error', 'timeout', 'not started', 'gone']),
    st.integers(0, 59)), max_size=40)


class ShortenedTest(testtools.TestCase):

    @settings(max_examples=300, deadline=None)
    @given(ENTRIES, st.integers(0, 20))
    def test_every_question_has_the_same_answer(self, entries, newest):
        entries = tuple(sorted(entries, key=lambda entry: entry.at))
        questions = [
            jn.open_moves, jn.last_moves, jn.last_outcome,
            jn.failures_in_a_row, jn.paused,
            lambda e: jn.back_offs(e, 1_800_000_000.0),
            *(lambda e, v=v: jn.failures_of(e, v) for v in 'uvw')]
        kept = entries
        for _ in range(2):
            kept = jn.still_matter(kept, newest)
            for ask in questions:
                self.assertEqual(ask(entries), ask(kept))


class CrashTest(Case):

    @settings(max_examples=60, deadline=None)
    @given(st.integers(0, 400))
    def test_a_crash_anywhere_loses_the_last_lines_only(self, keep):
        self.path.unlink(missing_ok=True)
        whole = [self.after(1, 'request', volume=f'v{i}', **REQUEST)
                 for i in range(3)]
        content = self.path.read_bytes()[:keep]
        self.path.write_bytes(content)
        kept = tuple(whole[:max(0, content.count(b'\n') - 1)])
        self.assertEqual(kept, jn.read(self.path))
        new = self.after(1, 'resume', reason='é')
        self.assertEqual((*kept, new), jn.read(self.path))
