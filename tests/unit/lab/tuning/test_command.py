# SPDX-License-Identifier: Apache-2.0
"""serifos-model fit --tune: found, kept, resumed, shown."""

import json
import os
import signal

import ddt
import fixtures
import testtools

from serifos.design import d_optimal
from serifos.lab.tuning import search
from serifos.lab.tuning import tuning_page as tune_report
from serifos.model import fit_runs
from tests.unit import case
from tests.unit.cmd import command
from tests.unit.model import fake
from tests.unit import samples


draw = tune_report.page_of  # takes a second, and one test looks at it
cut = {}


def _cut(*args):
    """The cost, but the user stops once while the fifth is reckoned."""
    cut['at'] -= 1
    if cut['at'] == 0 and not cut['told'].exists():
        cut['told'].touch()
        os.kill(cut['parent'], signal.SIGINT)
    return cut['cost'](*args)


@ddt.ddt
class TuneTest(case.DirectoryCase):

    def setUp(self):
        super().setUp()
        self.useFixture(fake.Kind())
        self.drawn(lambda *args: 'drawn')
        self.dataset = self.dir / 'd.jsonl'
        dataset = samples.dataset(d_optimal.runs(30), fake.truth)
        samples.write(self.dataset, dataset)
        self.model = self.dir / 'm.json'
        self.journal = self.dir / 'm.tune.jsonl'

    def tune(self, *options, jobs=1):
        return command.model(
            'fit', self.dataset, '--kind', fake.KIND, '--out', self.model,
            '--tune', '--jobs', jobs, '-f', 'json', '--iterations', 3,
            *options)

    def tuned(self, *options, jobs=1):
        code, out, err = self.tune(*options, jobs=jobs)
        self.assertEqual(0, code, err)
        return json.loads(out)

    def test_the_model_is_fitted_with_what_was_found(self):
        said = self.tuned()
        doc = json.loads(self.model.read_text())
        self.assertAlmostEqual(1.25, doc['settings']['power'], delta=0.02)
        self.assertAlmostEqual(1.25, doc['parameters']['power'], delta=0.02)
        found = doc['quality']['tuning']
        self.assertEqual(said['tuning'], found)
        self.assertLess(found['rmse'], 0.1 * found['rmse_standard'])
        self.assertLess(doc['quality']['mre'], 0.1 * found['mre_standard'])
        self.assertEqual(found['evaluated'],
                         len(self.journal.read_text().splitlines()) - 1)

    def test_show_says_what_was_chosen(self):
        self.tuned()
        _, out, _ = command.model('show', self.model)
        self.assertRegex(out, r'settings +\| power 1\.2\d*, unused \d')
        self.assertRegex(out, r'(?s)tuning +\| rmse_standard \d.*iterations 3')

    def drawn(self, how):
        self.useFixture(fixtures.MonkeyPatch(
            'serifos.lab.tuning.tuning_page.page_of', how))

    def test_the_page_holds_the_search(self):
        self.drawn(draw)
        self.tuned('--iterations', 2)
        text = (self.dir / 'm.tune.html').read_text()
        self.assertEqual(2, text.count('<svg'))
        self.assertIn('kind power', text)
        self.assertRegex(text, 'class="verdict">Worth it: .* lower the cross-'
                         r'validated error .* by \d+ %. The model is \w')

    def test_what_is_given_is_not_searched(self):
        self.tuned('--set', 'power=2')
        doc = json.loads(self.model.read_text())
        self.assertEqual(2, doc['settings']['power'])
        self.assertLessEqual(doc['quality']['tuning']['evaluated'], 10)

    def test_processes_change_nothing(self):
        first = self.tuned()
        model = self.model.read_text()
        self.journal.unlink()
        self.assertEqual(first, self.tuned(jobs=2))
        self.assertEqual(model, self.model.read_text())

    def test_a_search_that_was_made_takes_none_again(self):
        self.tuned()
        model, journal = self.model.read_text(), self.journal.read_text()
        self.patch_cost(lambda *args: self.fail('evaluated again'))
        self.tuned()
        self.assertEqual((model, journal), (self.model.read_text(),
                                            self.journal.read_text()))

    def test_a_search_that_another_method_fitted_is_refused(self):
        self.tuned()
        header, *rest = self.journal.read_text().splitlines(True)
        doc = json.loads(header)
        self.assertGreater(doc.pop('method')['m5'], 1)
        self.journal.write_text(''.join([f'{json.dumps(doc)}\n', *rest]))
        code, out, err = self.tune()
        self.assertEqual((2, ''), (code, out))
        self.assertIn('m.tune.jsonl is of a search with another method of '
                      'fitting; delete the file to search anew.', err)

    @ddt.data(1, 2)
    def test_ctrl_c_keeps_what_was_evaluated(self, jobs):
        whole = self.tuned()
        os.rename(self.journal, self.dir / 'whole')
        cut.update(at=5, parent=os.getpid(), cost=search.cost,
                   told=self.dir / 'told')
        self.patch_cost(_cut)
        code, out, err = self.tune(jobs=jobs)
        self.assertEqual((130, ''), (code, out))
        self.assertIn('m.tune.jsonl, and the same command resumes', err)
        kept = self.journal.read_text().splitlines()
        self.assertTrue(5 <= len(kept) < 20, kept)
        search.cost = cut['cost']
        self.assertEqual(whole, self.tuned())
        self.assertEqual(kept, self.journal.read_text().splitlines()[
            :len(kept)])
        self.assertEqual(
            sorted((self.dir / 'whole').read_text().splitlines()),
            sorted(self.journal.read_text().splitlines()))

    def patch_cost(self, cost):
        self.useFixture(fixtures.MonkeyPatch(
            'serifos.lab.tuning.search.cost', cost))

    def test_another_dataset_is_refused(self):
        self.tuned('--iterations', 1)
        with open(self.dataset, 'a') as file:
            file.write(self.dataset.read_text().splitlines(True)[1])
        code, _, err = self.tune()
        self.assertEqual(2, code)
        self.assertIn('another dataset', err)

    @ddt.data(('--jobs', 0), ('--jobs', 257), ('--iterations', 0),
              ('--splits', 99), ('--explorations', -1),
              ('--least-gain', 'nan'), ('--set', 'power=9'),
              ('--set', 'colour=1'))
    def test_absurd_options_are_one_sentence(self, options):
        code, out, err = self.tune(*options)
        self.assertEqual((2, ''), (code, out))
        self.assertEqual(1, len(err.splitlines()), err)

    @ddt.data('auto', 'consolidation')
    def test_a_kind_without_settings_is_told_of_those_that_have(self, kind):
        code, _, err = self.tune('--kind', kind)
        self.assertEqual(2, code)
        self.assertIn(f'nothing to tune in kind {kind}', err)
        self.assertIn('power', err)

    def test_everything_given(self):
        code, _, err = self.tune('--set', 'power=1', '--set', 'unused=1')
        self.assertEqual(2, code)
        self.assertIn('no setting to search', err)


class CostTest(testtools.TestCase):

    def test_it_is_the_mean_rmse_of_ten_folds(self):
        self.useFixture(fake.Kind())
        data = fit_runs.runs(samples.dataset(
            d_optimal.runs(20), fake.truth).samples)
        exact = search.cost(fake.KIND, data, 0, {'power': 1.25})
        self.assertAlmostEqual(0, exact, places=6)
        self.assertGreater(search.cost(fake.KIND, data, 0, {}), 1)
