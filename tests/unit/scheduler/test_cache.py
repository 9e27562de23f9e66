# SPDX-License-Identifier: Apache-2.0

import dataclasses
import json
import os

import ddt
import testtools

from serifos import errors
from serifos.files import atomic
from serifos.scheduler import cache
from tests.unit.scheduler import files

NOW = 1_800_000_000.0


@ddt.ddt
class CacheTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.files = self.useFixture(files.Files())
        self.files.models(files.model('ssd'))
        self.files.cluster(['a'], now=NOW)
        self.cache = self.make()

    def make(self):
        return cache.Cache(
            str(self.files.dir), str(self.files.models_dir), 600)

    def trouble(self, now=NOW):
        return str(self.assertRaises(
            errors.InputError, self.cache.look, now))

    def test_nothing_is_read_again_while_the_stats_stand(self):
        before = self.cache.look(NOW)
        self.assertIs(before, self.cache.look(NOW + 1))

    def test_a_new_file_is_read_at_once(self):
        self.cache.look(NOW)
        self.files.cluster(['a', 'b'], now=NOW)
        self.assertEqual({'a', 'b'},
                         set(self.cache.look(NOW).pools.pool))

    def test_a_new_model_is_read_and_the_pools_are_not(self):
        before = self.cache.look(NOW)
        self.files.models(files.model('hdd'))
        after = self.cache.look(NOW)
        self.assertEqual({'ssd', 'hdd'}, set(after.models))
        self.assertIs(before.pools, after.pools)

    def test_a_corrected_file_is_an_opinion_again(self):
        self.files.break_pools()
        self.assertIn('is not JSON', self.trouble())
        self.files.cluster(['a'], now=NOW)
        self.assertEqual({'a'}, set(self.cache.look(NOW).pools.pool))

    def test_a_file_that_is_replaced_by_a_huge_one_is_read_again(self):
        """One request says what is wrong, the next one has an opinion."""
        self.cache.look(NOW)
        self.files.break_pools()
        os.truncate(self.files.pools_path, atomic.MOST_BYTES + 1)
        self.assertIn('larger than', self.trouble())
        self.files.cluster(['a'], now=NOW)
        self.assertEqual({'a'}, set(self.cache.look(NOW).pools.pool))

    @ddt.data(('{', 'is not JSON'), ('[]', 'does not say its schema'),
              ('{"schema": "serifos-pools/9"}', 'serifos-pools/9'),
              ('{"schema": "serifos-pools/1"}', 'active_floor'),
              ('\x00', 'is not JSON'))
    @ddt.unpack
    def test_a_broken_file_is_refused_in_a_sentence(self, text, why):
        self.cache.look(NOW)
        self.files.break_pools(text)
        self.assertIn(why, self.trouble())

    @ddt.data(('observed_at', 'yesterday', 'ISO 8601'),
              ('features', ['count'], 'another version of serifos'),
              ('everyone', [float('nan')] * 22, 'not a finite number'),
              ('pools', [{'device': 'a'}], 'pools[0]'),
              ('devices', [{'name': 'a', 'model': 'a', 'load': ['9']}],
               'not 22 numbers'),
              ('volumes', {}, 'volumes must be array'))
    @ddt.unpack
    def test_a_member_that_cannot_be_is_named(self, name, value, why):
        doc = json.loads(self.files.pools_path.read_text())
        self.files.break_pools(json.dumps({**doc, name: value}))
        self.assertIn(why, self.trouble())

    def test_what_overwhelms_the_parser_is_refused(self):
        self.files.break_pools('{"pools": ' + '[' * 99999)
        self.assertIn('nested too deeply', self.trouble())

    def test_a_missing_file_is_said(self):
        self.files.pools_path.unlink()
        self.assertIn('start serifos-balancer run', self.trouble())

    @ddt.data((600, True), (601, False), (-600, True), (-601, False))
    @ddt.unpack
    def test_age(self, later, fresh):
        if fresh:
            self.cache.look(NOW + later)
        else:
            self.assertIn('was observed', self.trouble(NOW + later))

    def test_without_observed_at_the_age_is_the_file_s(self):
        doc = json.loads(self.files.pools_path.read_text())
        self.files.break_pools(json.dumps({**doc, 'observed_at': None}))
        os.utime(self.files.pools_path, (NOW, NOW))
        self.cache.look(NOW + 10)
        self.assertIn('611 s ago', self.trouble(NOW + 611))

    def test_a_broken_model_is_only_its_own_trouble(self):
        (self.files.models_dir / 'bad.json').write_text('{}')
        self.files.models(dataclasses.replace(
            files.model('fast'), predicts='read_iops'))
        view = self.cache.look(NOW)
        self.assertEqual({'ssd'}, set(view.models))
        self.assertIn('schema', view.broken['bad'])
        self.assertIn('not a latency', view.broken['fast'])

    def test_a_coefficient_that_is_a_text_is_its_own_trouble_too(self):
        doc = files.model('bad').to_json()
        row = next(iter(doc['parameters'].values()))
        row[next(iter(row))] = '12,5'
        (self.files.models_dir / 'bad.json').write_text(json.dumps(doc))
        view = self.cache.look(NOW)
        self.assertEqual({'ssd'}, set(view.models))
        self.assertIn('12,5', view.broken['bad'])

    def test_no_models_directory_is_no_models(self):
        self.files.models_dir.rename(self.files.dir / 'elsewhere')
        self.assertEqual({}, self.cache.look(NOW).models)

    def test_a_volume_that_lives_is_found_in_cluster_json(self):
        lives = files.volume('1', 'a', 64, volume_type='gold')
        self.files.cluster(['a'], [files.volume('0', 'a'), lives], now=NOW)
        self.cache.look(NOW)
        self.assertEqual(lives, self.cache.volume('1'))
        self.assertIsNone(self.cache.volume('2'))
        self.files.cluster(['a'], now=NOW)
        self.cache.look(NOW)
        self.assertIsNone(self.cache.volume('1'))
