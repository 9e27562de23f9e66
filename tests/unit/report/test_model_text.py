# SPDX-License-Identifier: Apache-2.0
"""What the figures of a model say, in words."""

import testtools

from serifos.model.model import Model
from serifos.report import model_text

QUALITY = {'mre': 0.234, 'tenant_mre': 0.2, 'interval': [-0.254, 4.81],
           'mre_by_count': {'1': 0.26, '2': None, '8': 0.008},
           'mre_by_kind': {'queueing': 0.27, 'outstanding': 0.234},
           'adj_r2': {'1': 0.9, '2': None, '3': 0.85}}


def model(quality, **more):
    return Model('disk', 'outstanding', {}, {
        'block_kib': (4, 256), 'random_pct': (100, 100)}, quality, **more)


class ExplainedTest(testtools.TestCase):

    def test_every_figure_has_its_value_and_its_meaning(self):
        found = {name: value for name, value, meaning in model_text.figures(
            model(QUALITY, dataset={'runs': 30})) if meaning}
        self.assertEqual({
            'runs': '30', 'mre': '23 %', 'tenant_mre': '20 %',
            'interval': '-25 % to +481 %', 'adj_r2': '0.85',
            'mre_by_count': '0.8 % at 8, 26 % at 1',
            'mre_by_kind': 'outstanding 23 %, queueing 27 %',
            'range': '4 to 256 KiB a request, 100 % random'}, found)

    def test_why_auto_took_its_kind(self):
        self.assertIn('\nIts kind: On held-out runs.\n', model_text.text(
            model({**QUALITY, 'why': 'On held-out runs.'})))

    def test_a_model_that_states_nothing(self):
        names = [name for name, *_ in model_text.figures(model({}))]
        self.assertEqual(['interval', 'range'], names)
        self.assertIn('not known whether', model_text.text(model({})))

    def test_the_verdict_comes_first_and_the_advice_last(self):
        lines = model_text.text(
            model(QUALITY, dataset={'runs': 30})).splitlines()
        self.assertEqual('disk: good enough for large differences only: '
                         '23 % error, 30 runs.', lines[0])
        self.assertIn('What to do next:', lines)
        self.assertLessEqual(max(map(len, lines)), 79)

    def test_nothing_that_a_terminal_obeys_is_printed(self):
        evil = model(QUALITY)
        self.assertNotIn('\x1b', model_text.text(Model(
            'a\x1b[2Jb', evil.kind, {}, evil.range, evil.quality)))
