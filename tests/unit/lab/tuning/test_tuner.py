# SPDX-License-Identifier: Apache-2.0
"""The journal of a search: kept, resumed, and never another's."""

import json
import math

import ddt
import testtools

from serifos import errors
from serifos.lab.tuning import tuner
from tests.unit import case

FACTS = {'dataset': {'sha256': 'aa'}, 'seed': 0, 'folds': 10}


@ddt.ddt
class JournalTest(case.DirectoryCase):

    def setUp(self):
        super().setUp()
        self.path = self.dir / 'm.tune.jsonl'

    def opened(self, **others):
        return tuner.opened(self.path, {**FACTS, **others})

    def begun(self):
        with self.opened() as journal:
            journal.add('cart', 'latency_us', {'cp': 0.1, 'minsplit': 2}, 7.5)
            journal.add('cart', 'latency_us', {'cp': 0.2, 'minsplit': 2},
                        math.nan)

    def test_what_was_evaluated_is_known_again(self):
        self.begun()
        with self.opened() as journal:
            self.assertEqual(7.5, journal.rmse(
                'cart', 'latency_us', {'minsplit': 2.0, 'cp': 0.1}))
            self.assertTrue(math.isnan(journal.rmse(
                'cart', 'latency_us', {'minsplit': 2, 'cp': 0.2})))
            for kind, figure, cp in (('m5', 'latency_us', 0.1),
                                     ('cart', 'read_iops', 0.1),
                                     ('cart', 'latency_us', 0.3)):
                self.assertFalse(journal.has(
                    kind, figure, {'minsplit': 2, 'cp': cp}))

    def test_the_file_is_one_that_programs_read(self):
        self.begun()
        header, line, none = map(
            json.loads, self.path.read_text().splitlines())
        self.assertEqual({'schema': 'serifos-tune/1', **FACTS}, header)
        self.assertEqual(
            {'kind': 'cart', 'predicts': 'latency_us', 'rmse': 7.5,
             'settings': {'cp': 0.1, 'minsplit': 2}}, line)
        self.assertIsNone(none['rmse'])

    def test_what_is_no_file(self):
        self.path.mkdir()
        exc = self.assertRaises(errors.InputError, self.opened().__enter__)
        self.assertIn('is a directory', str(exc))

    @ddt.data({'kind': {}}, {'predicts': []}, {'settings': {'cp': 10 ** 400}},
              {'rmse': 10 ** 400}, {'settings': [1]})
    def test_a_line_of_wrong_types(self, change):
        self.begun()
        doc = {'kind': 'cart', 'predicts': 'latency_us', 'settings': {},
               'rmse': 1, **change}
        with open(self.path, 'a') as file:
            file.write(f'{json.dumps(doc)}\n')
        exc = self.assertRaises(errors.FormatError, self.opened().__enter__)
        self.assertIn('line 4', str(exc))

    def test_a_line_that_a_crash_cut_short_is_evaluated_again(self):
        self.begun()
        with open(self.path, 'a') as file:
            file.write('{"kind": "ca')
        with self.opened() as journal:
            self.assertTrue(journal.has(
                'cart', 'latency_us', {'minsplit': 2, 'cp': 0.1}))
            journal.add('cart', 'latency_us', {'cp': 0.4}, 1.0)
        self.assertEqual(4, len(self.path.read_text().splitlines()))

    @ddt.data(({'dataset': {'sha256': 'bb'}}, 'another dataset'),
              ({'seed': 1}, 'another seed'),
              ({'seed': 1, 'folds': 5}, 'another seed and folds'))
    @ddt.unpack
    def test_the_journal_of_another_search_is_refused(self, facts, words):
        self.begun()
        with testtools.ExpectedException(errors.InputError, f'.*{words};'):
            with self.opened(**facts):
                pass

    @ddt.data(('{"schema": "serifos-tune/9"}\n', 'reads serifos-tune/1'),
              ('nothing\n', 'line 1: it is not JSON'),
              ('[]\n', 'line 1: it is not a JSON object'))
    @ddt.unpack
    def test_what_is_no_journal_is_refused(self, text, words):
        self.path.write_text(text)
        with testtools.ExpectedException(errors.FormatError, f'.*{words}'):
            with self.opened():
                pass

    @ddt.data('{}', '{"kind": 1', '{"kind": "cart", "predicts": "x", '
              '"settings": [], "rmse": 1}', '{"kind": "cart", "predicts": '
              '"x", "settings": {"cp": "a"}, "rmse": 1}')
    def test_a_broken_line_is_named(self, line):
        self.begun()
        with open(self.path, 'a') as file:
            file.write(line + '\n')
        with testtools.ExpectedException(errors.FormatError, '.*line 4'):
            with self.opened():
                pass

    def test_two_searches_do_not_share_it_at_once(self):
        with self.opened():
            with testtools.ExpectedException(
                    errors.InputError, '.*Another search'):
                with self.opened():
                    pass

    def test_nowhere_to_write(self):
        self.path = self.path.parent / 'no' / 'm.tune.jsonl'
        with testtools.ExpectedException(
                errors.InputError, '.*cannot be written'):
            with self.opened():
                pass
