# SPDX-License-Identifier: Apache-2.0
import json
import os
import threading

import ddt

from serifos.balancer import plans
from serifos import errors
from serifos.files import documents
from serifos.plan import plan as pl
from tests.unit import case

NOW = 1_800_000_000.0
DAY = 86400.0


def plan(name, created=NOW, ttl=DAY, volume='v'):
    change = pl.Change(2, 1)
    return pl.Plan(
        'relieve', (pl.Move(volume, 'a', 'b', 1, 2, 1, 1, 2, 'it is hot'),),
        (), False, {'a': change}, change, change, change, change,
        ).issued(name, created, ttl)


@ddt.ddt
class PlansTest(case.DirectoryCase):

    def setUp(self):
        super().setUp()
        self.dir = self.dir / 'plans'
        self.said = []

    def keep(self, made, now=NOW):
        return plans.keep(self.dir, made, now, self.said.append)

    def names(self):
        return {path.name for path in self.dir.iterdir()}

    def test_old_ones_go_and_the_same_is_not_written_again(self):
        self.keep(plan('old', NOW - 9 * DAY))
        self.keep(plan('one', volume='w'))
        self.assertEqual('one', self.keep(
            plan('two', NOW + 1, volume='w')).id)
        self.assertEqual({'one.json'}, self.names())
        self.assertEqual([], self.said)

    def test_it_is_read_back_as_it_was(self):
        self.keep(plan('one', NOW + 0.7))
        self.assertEqual(plan('one', NOW + 0.7), plans.find(self.dir, 'one'))

    def test_one_of_an_earlier_release(self):
        self.keep(plan('one'))
        doc = plan('one').to_json()
        del doc['slo_misses'], doc['hot_pools']
        (self.dir / 'one.json').write_text(json.dumps(doc))
        self.assertEqual(plan('one').moves, documents.read_plan(
            self.dir / 'one.json').moves)

    @ddt.data('{"schema": "serifos-pl', '{"schema": "serifos-plan/2"}', '',
              '[' * 100_000, '[]', 'null', '{"schema": 1e400}',
              json.dumps({**plan('bad').to_json(), 'expires_at': 'later'}),
              json.dumps({**plan('bad').to_json(), 'moves': 5}))
    def test_a_bad_one_is_its_own_affair(self, text):
        self.keep(plan('one'))
        (self.dir / 'bad.json').write_text(text)
        self.assertEqual('two', self.keep(
            plan('two', volume='w')).id)
        self.assertEqual({'one.json', 'two.json', 'bad.json'}, self.names())
        said, = self.said
        self.assertIn(str(self.dir / 'bad.json'), said)
        self.assertLess(len(said), 500)

    def test_what_is_no_file(self):
        self.dir.mkdir()
        (self.dir / 'folder.json').mkdir()
        os.mkfifo(self.dir / 'fifo.json')
        (self.dir / 'nowhere.json').symlink_to('gone')
        (self.dir / '.part.json').write_text('{')
        self.assertEqual('one', self.keep(plan('one')).id)
        self.assertEqual(3, len(self.said))

    def test_a_file_in_the_directory_s_place(self):
        self.dir.write_text('')
        error = self.assertRaises(
            errors.InputError, self.keep, plan('one'))
        self.assertIn(f'{self.dir} cannot be a directory', str(error))

    def test_several_tidy_at_a_time(self):
        for number in range(40):
            self.keep(plan(f'old{number}', NOW, volume=f'v{number}'))
        failed, later = [], NOW + 9 * DAY

        def tidy(name):
            try:
                self.keep(plan(name, later), later)
            except Exception as exc:
                failed.append(exc)
        threads = [threading.Thread(target=tidy, args=(f'new{i}',))
                   for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(([], []), (failed, self.said))
        self.assertTrue(all(name.startswith('new') for name in self.names()))

    @ddt.data('x' * 300, 'a\0b', '', '/', '.', '../..', '\ud800')
    def test_a_name_that_no_plan_can_have(self, name):
        error = self.assertRaises(
            errors.InputError, plans.find, self.dir, name)
        self.assertIn('There is no plan', str(error))
