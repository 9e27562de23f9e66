# SPDX-License-Identifier: Apache-2.0
"""A relation predicts by the standard library, and refuses what is none."""

import json
import subprocess
import sys

import ddt
import hypothesis
from hypothesis import strategies
import numpy as np
import testtools

from serifos import errors
from serifos.facts.workload import Workload
from serifos.lab.relative import characteristics
from serifos.lab.relative import common
from serifos.lab.relative import relation
from serifos.lab.relative import relative
from tests.unit.model import pairs
from tests.unit.papers import golden

PAPER = golden.RELATIVE_FITNESS
SEEN = Workload(30, 16, iops=2000, latency_us=4000)
HALF = {'input': 'write_pct', 'at_most': 50, 'then': 0.5, 'else': 2.0}


def document(**change):
    factor = {'tree': HALF, 'error': 0.1, 'interval': [-0.2, 0.3]}
    return {'schema': relation.RELATION_SCHEMA, 'from': {'model': 'A'},
            'to': {'model': 'B'}, 'runs': 40, 'response': 0.5,
            'factors': {'latency_us': factor, 'iops': factor | {'tree': 1.5},
                        'bandwidth_kib_s': factor}} | change


@ddt.ddt
class RelationTest(testtools.TestCase):

    def test_the_papers_trees(self):
        table = PAPER['table_5']
        rows = [dict(zip(table['columns'], row)) for row in table['raid']]
        for figure in ('figure_3', 'figure_4'):
            self.assertEqual(
                PAPER[f'{figure}_says'],
                [relation.leaf(PAPER[figure], row) for row in rows])

    def test_by_the_trees(self):
        its = relation.Relation.from_json(document())
        self.assertEqual((0.5, 1.5, 0.5), (
            its.factor('latency_us', SEEN), its.factor('iops', SEEN),
            its.share(SEEN)))

    @ddt.data(Workload(30, 16), Workload(30, 16, iops=0, latency_us=0),
              Workload(30, 16, iops=5))
    def test_nothing_is_known_of_what_was_not_observed(self, workload):
        its = relation.Relation.from_json(document())
        self.assertIn('was not observed', str(self.assertRaises(
            errors.InputError, its.share, workload)))

    @hypothesis.settings(max_examples=50, deadline=None)
    @hypothesis.given(
        strategies.floats(0, 100), strategies.floats(0.5, 1024),
        strategies.floats(0, 100),
        strategies.floats(0.01, 1e6), strategies.floats(1, 1e6))
    def test_trees_of_a_file_say_what_the_fitted_ones_do(
            self, write_pct, block_kib, random_pct, iops, latency_us):
        workload = Workload(write_pct, block_kib, 8, random_pct, iops,
                            latency_us)
        row = characteristics.of_workload(workload)
        x = np.array([[row[name] for name in relation.INPUTS]])
        read = relation.Relation.from_json(json.loads(json.dumps(
            RELATION.to_json())))
        for figure, fit in FITS.items():
            self.assertAlmostEqual(fit.predict(x)[0],
                                   read.factor(figure, workload), places=9)
        self.assertTrue(0 <= read.share(workload) <= 1)

    @ddt.data(
        ({'response': {'input': 'cpu_pct', 'at_most': 1, 'then': 1,
                       'else': 1}}, "'cpu_pct'"),
        ({'response': {'input': 'iops', 'at_most': None, 'then': 1,
                       'else': 1}}, 'has no number'),
        ({'response': {'input': 'iops', 'at_most': 5, 'then': 1}}, 'None'),
        ({'response': -1.0}, '-1.0'), ({'response': True}, 'True'),
        ({'factors': {}}, 'no factor of latency_us'))
    @ddt.unpack
    def test_rubbish_is_refused(self, change, words):
        self.assertIn(words, str(self.assertRaises(
            errors.FormatError, relation.Relation.from_json,
            document(**change))))

    def test_the_standard_library_is_enough(self):
        heavy = ('numpy', 'scipy', 'sklearn')
        loaded = subprocess.run(
            [sys.executable, '-c', 'import sys, serifos.lab.relative.relation;'
             f'print([m for m in {heavy} if m in sys.modules])'],
            check=True, capture_output=True, text=True).stdout.strip()
        self.assertEqual('[]', loaded)


DEVICES = common.joined({
    'A': pairs.device('A', pairs.runs()),
    'B': pairs.device('B', pairs.runs(),
                      lambda w: 40 + 30 * w.iodepth + w.write_pct)})
RELATION = relative.relation(DEVICES)
FITS = {figure: relative.fitted(
    np.column_stack([DEVICES.tenants[0][name] for name in relation.INPUTS]),
    DEVICES.tenants[1][figure] / DEVICES.tenants[0][figure])
    for figure in relation.FIGURES}
