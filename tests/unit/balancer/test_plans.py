# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import threading

import ddt
import fixtures
import testtools

from serifos.balancer import plans
from serifos import errors
from serifos.plan import movable

NOW = 1_800_000_000.0
DAY = 86400.0


def document(name, created=NOW, ttl=DAY, volume='v'):
    change = {'before': 2, 'after': 1}
    return {'schema': 'serifos-plan/1', 'id': name, 'planner': 'relieve',
            'created_at': movable.stamp(created),
            'expires_at': movable.stamp(created + ttl), 'truncated': False,
            'moves': [{'volume': volume, 'from': 'a', 'to': 'b',
                       'size_gib': 1, 'source_before_us': 2,
                       'source_after_us': 1, 'target_before_us': 1,
                       'target_after_us': 2, 'reason': 'it is hot'}],
            'refused': [], 'latency_us': {}, 'max_us': change,
            'mean_us': change, 'variance_us2': change, 'slo_misses': change}


@ddt.ddt
class PlansTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.dir = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path, 'plans')
        self.said = []

    def keep(self, doc, now=NOW):
        return plans.keep(self.dir, doc, now, self.said.append)

    def names(self):
        return {path.name for path in self.dir.iterdir()}

    def test_old_ones_go_and_the_same_is_not_written_again(self):
        self.keep(document('old', NOW - 9 * DAY))
        self.keep(document('one', volume='w'))
        self.assertEqual('one', self.keep(
            document('two', NOW + 1, volume='w'))['id'])
        self.assertEqual({'one.json'}, self.names())
        self.assertEqual([], self.said)

    @ddt.data('{"schema": "serifos-pl', '{"schema": "serifos-plan/2"}', '',
              '[' * 100_000, '[]', 'null', '{"schema": 1e400}',
              json.dumps({**document('bad'), 'expires_at': 'later'}),
              json.dumps({**document('bad'), 'moves': 5}))
    def test_a_bad_one_is_its_own_affair(self, text):
        self.keep(document('one'))
        (self.dir / 'bad.json').write_text(text)
        self.assertEqual('two', self.keep(
            document('two', volume='w'))['id'])
        self.assertEqual({'one.json', 'two.json', 'bad.json'}, self.names())
        said, = self.said
        self.assertIn(str(self.dir / 'bad.json') if 'later' not in text
                      else 'Plan bad', said)
        self.assertLess(len(said), 500)

    def test_what_is_no_file(self):
        self.dir.mkdir()
        (self.dir / 'folder.json').mkdir()
        os.mkfifo(self.dir / 'fifo.json')
        (self.dir / 'nowhere.json').symlink_to('gone')
        (self.dir / '.part.json').write_text('{')
        self.assertEqual('one', self.keep(document('one'))['id'])
        self.assertEqual(3, len(self.said))

    def test_a_file_in_the_directory_s_place(self):
        self.dir.write_text('')
        error = self.assertRaises(
            errors.InputError, self.keep, document('one'))
        self.assertIn(f'{self.dir} cannot be a directory', str(error))

    def test_several_tidy_at_a_time(self):
        for number in range(40):
            self.keep(document(f'old{number}', NOW, volume=f'v{number}'))
        failed, later = [], NOW + 9 * DAY

        def tidy(name):
            try:
                self.keep(document(name, later), later)
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
