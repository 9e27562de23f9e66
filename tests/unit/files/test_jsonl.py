# SPDX-License-Identifier: Apache-2.0
"""Files of JSON lines: appended, resumed after a crash, read with places."""

import os

import ddt

from serifos import errors
from serifos.files import jsonl
from tests.unit import case

HEADER = {'schema': 'x/1'}


@ddt.ddt
class JsonLinesTest(case.DirectoryCase):

    def setUp(self):
        super().setUp()
        self.path = self.dir / 'x.jsonl'

    def resumed(self):
        return jsonl.resumed(self.path, HEADER, 'build')

    def read(self):
        return list(jsonl.parse(self.path.read_text(), 'x', 'fix it'))

    def test_what_is_appended_is_read_with_its_place(self):
        with self.resumed():
            jsonl.append(self.path, {'a': 1})
        with self.resumed():
            jsonl.append(self.path, {'b': '\u2028'})
        self.assertEqual([('x, line 1', HEADER), ('x, line 2', {'a': 1}),
                          ('x, line 3', {'b': '\u2028'})], self.read())

    @ddt.data('', '{"schema": "x', '{"schema": "x/1"}\n{"a":')
    def test_a_line_cut_short_is_refused_by_readers_and_dropped(self, text):
        self.path.write_text(text)
        if text:
            self.assertIn(' is cut short', str(self.assertRaises(
                errors.FormatError, self.read)))
        with self.resumed():
            self.assertEqual([('x, line 1', HEADER)], self.read())

    @ddt.data(('5', 'line 3: it is not a JSON object; fix it.'),
              ('{"a": NaN}', 'line 3: NaN is not a finite number; fix it.'),
              ('{', 'line 3: it is not JSON'))
    @ddt.unpack
    def test_a_broken_line_is_named(self, line, words):
        self.path.write_text(f'{{}}\n\n{line}\n')
        self.assertIn(words, str(self.assertRaises(
            errors.FormatError, self.read)))

    def test_one_writer_at_a_time(self):
        with self.resumed():
            self.assertIn('Another build', str(self.assertRaises(
                errors.InputError, self.resumed().__enter__)))

    @ddt.data('resumed', 'begun')
    def test_a_line_that_another_is_writing_is_left_alone(self, verb):
        with self.resumed():
            with open(self.path, 'a') as file:
                file.write('{"half": ')
            before = self.path.read_bytes()
            self.assertIn('Another build', str(self.assertRaises(
                errors.InputError,
                {'resumed': self.resumed().__enter__,
                 'begun': lambda: jsonl.begun(self.path, 'build')}[verb])))
            self.assertEqual(before, self.path.read_bytes())

    @ddt.data(('mkdir', 'is a directory'), ('mkfifo', 'is a FIFO'))
    @ddt.unpack
    def test_what_is_no_file_is_refused(self, make, words):
        getattr(os, make)(self.path)
        self.assertIn(words, str(self.assertRaises(
            errors.InputError, self.resumed().__enter__)))

    def test_nowhere_to_write(self):
        self.path = self.path / 'no' / 'x.jsonl'
        for verb in (self.resumed().__enter__,
                     lambda: jsonl.append(self.path, {})):
            self.assertIn('cannot be written', str(self.assertRaises(
                errors.InputError, verb)))
