# SPDX-License-Identifier: Apache-2.0
"""A name mistyped never costs what was measured or fitted."""

import functools
import json

import ddt

from serifos.design import d_optimal
from serifos.files import documents
from serifos.model import fit
from tests.unit import case
from tests.unit.cmd import command
from tests.unit import samples


@functools.cache
def _dataset():
    return samples.dataset(d_optimal.runs(20), lambda run: 50.0 + 3 * sum(
        w.iodepth * w.block_kib for w in run))


@functools.cache
def _model():
    return fit.fit(_dataset(), 'outstanding', 'm')


@ddt.ddt
class OverwritingTest(case.DirectoryCase):

    @ddt.data(
        ('fit', 'a.jsonl', '--out', 'a.jsonl'),
        ('fit', 'a.jsonl', '--out', 'b.jsonl'),
        ('calibrate', 'a.jsonl', '--out', 'a.jsonl'),
        ('calibrate', 'a.jsonl', '--out', 'new.json', '--page', 'm.json'),
        ('calibrate', 'a.jsonl', '--out', 'new.json', '--page', 'new.json'),
        ('relate', 'a.jsonl', 'b.jsonl', '--out', 'b.jsonl'),
        ('relate', 'a.jsonl', 'b.jsonl', '--page', 'a.jsonl'),
        ('report', 'm.json', 'a.jsonl', '--out', 'a.jsonl'),
        ('report', 'm.json', 'a.jsonl', '--out', 'm.json'),
        ('learn', 'm.json', '--observations', 'a.jsonl', '--output',
         'a.jsonl'),
        ('coverage', 'a.jsonl', 'b.jsonl', '--page', 'b.jsonl'),
        ('compare-kinds', 'a.jsonl', '--no-tune', '--page', 'a.jsonl'))
    def test_an_input_is_never_replaced(self, arguments):
        for name in 'a.jsonl', 'b.jsonl':
            samples.write(self.dir / name, _dataset())
        documents.write_model(self.dir / 'm.json', _model())
        self.assert_refused(arguments)

    def test_nor_where_another_program_sorted_its_keys(self):
        path = self.dir / 'a.jsonl'
        samples.write(path, _dataset())
        path.write_text(''.join(
            json.dumps(json.loads(line), sort_keys=True) + '\n'
            for line in path.read_text().splitlines()))
        self.assert_refused(('fit', 'a.jsonl', '--out', 'a.jsonl'))
        model = self.dir / 'm.json'
        documents.write_model(model, _model())
        model.write_text(json.dumps(
            {'device': 'x' * 100_000, **json.loads(model.read_text())},
            sort_keys=True))
        self.assert_refused(('compare-kinds', 'a.jsonl', '--no-tune', '--page',
                             'm.json'))

    def assert_refused(self, arguments):
        was = {path: path.read_bytes() for path in self.dir.iterdir()}
        code, out, err = command.model(*(
            self.dir / word if '.' in word else word for word in arguments))
        self.assertEqual((2, '', 1), (code, out, len(err.splitlines())), err)
        self.assertEqual(was, {path: path.read_bytes()
                               for path in self.dir.iterdir()})
