# SPDX-License-Identifier: Apache-2.0
"""serifos-sim kinds: tables, a page, and the same for a seed."""

import json

import ddt
import fixtures
import testtools

from tests.unit.cmd import command

SMALL = ('--only-drawn', '--drawn', 1, '--flash', 0, '--tests', 1,
         '--runs', 20)


def kinds(*arguments):
    return command.simulate('kinds', *arguments)


@ddt.ddt
class KindsTest(testtools.TestCase):

    def test_tables_and_page_and_data(self):
        out = self.useFixture(fixtures.TempDir()).join('made')
        code, text, err = kinds(*SMALL, '--kind', 'outstanding', '--kind',
                                'queueing', '--out', out)
        self.assertEqual((0, 1), (code, err.count('Took ')), err)
        for part in ('over 1 device\n', 'outstanding', 'queueing', 'chosen',
                     'within p99', 'drawn-', 'all think', 'falls',
                     'What one tenant sees'):
            self.assertIn(part, text)
        self.assertNotIn('auto', text)  # which chooses among others
        with open(f'{out}/kinds.html', encoding='utf-8') as file:
            page = file.read()
        self.assertEqual(2, page.count('<svg'))
        self.assertRegex(page, r'class="verdict">Kind \w+ is \w.*: \S+ % error'
                         ' in the mean over 1 device, fitted to the runs that')
        self.assertIn(
            'kinds --kind outstanding --kind queueing --runs 20 '
            '--only-drawn --drawn 1 --flash 0 --tests 1 --seed 0', page)
        with open(f'{out}/kinds.json', encoding='utf-8') as file:
            doc = json.load(file)
        self.assertEqual(6, len(doc['scores']))
        by_runs = {(s['kind'], s['design']): s for s in doc['scores']}
        short = by_runs['outstanding', '20']
        self.assertEqual(20, short['runs'])
        self.assertTrue(0 < short['errors']['paper'] < 0.5)
        self.assertTrue(20 <= by_runs['outstanding', 'chosen']['runs'] <= 80)

    @ddt.data((('--drawn', -1), 'drawn of -1'), (('--tests', 0), 'of 0'),
              (('--drawn', 0), 'no device to try'), (('--jobs', 0), 'of 0'),
              (('--flash', -1), 'flash of -1'),
              (('--runs', 5), 'runs of 5'), (('--seed', -1), 'of -1'),
              (('--out', '/dev/null/x'), '/dev/null/x'))
    @ddt.unpack
    def test_absurd_options_are_one_sentence(self, options, part):
        code, out, err = kinds(*SMALL, *options)
        self.assertEqual((2, ''), (code, out), err)
        self.assertIn(part, err)
        self.assertEqual(1, len(err.splitlines()), err)

    def test_an_unknown_kind_is_refused(self):
        code, _, err = kinds('--kind', 'guess')
        self.assertEqual(2, code)
        self.assertIn('guess', err)
