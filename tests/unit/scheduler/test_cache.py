# SPDX-License-Identifier: Apache-2.0

import dataclasses
import json
import os

import ddt
import testtools

from serifos import errors
from serifos.facts.cluster import Pool
from serifos.facts.workload import Workload
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
        return cache.Cache(str(self.files.dir), str(self.files.models_dir),
                           600, files.USUAL)

    def trouble(self, now=NOW):
        return str(self.assertRaises(
            errors.InputError, self.cache.look, now))

    def test_nothing_is_read_again_while_the_stats_stand(self):
        before = self.cache.look(NOW)
        self.assertIs(before, self.cache.look(NOW + 1))

    def test_a_new_cluster_is_read(self):
        self.cache.look(NOW)
        self.files.cluster(['a', 'b'], now=NOW)
        self.assertEqual({'a', 'b'},
                         set(self.cache.look(NOW).snapshot.devices))

    def test_a_new_model_is_read_and_the_cluster_is_not(self):
        before = self.cache.look(NOW)
        self.files.models(files.model('hdd'))
        after = self.cache.look(NOW)
        self.assertEqual({'ssd', 'hdd'}, set(after.models))
        self.assertIs(before.snapshot, after.snapshot)

    def test_a_corrected_file_is_an_opinion_again(self):
        self.files.break_cluster()
        self.assertIn('is not JSON', self.trouble())
        self.files.cluster(['a'], now=NOW)
        self.assertEqual({'a'}, set(self.cache.look(NOW).snapshot.devices))

    @ddt.data('{', '[]', '{"schema": "serifos-cluster/9"}', '\x00',
              '{"schema": "serifos-cluster/1", "pools": [], "volumes": [],'
              ' "observed_at": "yesterday"}',
              '{"schema": "serifos-cluster/1", "volumes": [], "pools":'
              ' [{"name": "a"}, {"name": "a"}]}')
    def test_what_is_no_cluster_is_refused_in_a_sentence(self, text):
        self.cache.look(NOW)
        self.files.break_cluster(text)
        self.assertIn('cluster', self.trouble())

    def test_what_overwhelms_the_parser_is_refused(self):
        self.files.break_cluster('{"pools": ' + '[' * 99999)
        self.assertIn('nested too deeply', self.trouble())

    def test_a_missing_file_is_said(self):
        self.files.cluster_path.unlink()
        self.assertIn('There is no cluster', self.trouble())

    @ddt.data((600, True), (601, False), (-600, True), (-601, False))
    @ddt.unpack
    def test_age(self, later, fresh):
        if fresh:
            self.cache.look(NOW + later)
        else:
            self.assertIn('was observed', self.trouble(NOW + later))

    def test_without_observed_at_the_age_is_the_file_s(self):
        self.files.break_cluster(
            '{"schema": "serifos-cluster/1", "pools": [], "volumes": []}')
        os.utime(self.files.cluster_path, (NOW, NOW))
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


class SnapshotTest(testtools.TestCase):

    def test_pools_that_share_a_device_add(self):
        view = files.view(
            [Pool('a', 'ssd', device='sdb'),
             Pool('b', 'ssd', device='sdb')],
            [files.volume('1', 'a', 16), files.volume('2', 'b', 32)],
            ssd=files.model('ssd'))
        (place, load), = view.loads.items()
        self.assertEqual(view.snapshot.devices['a'], place.device)
        self.assertEqual((2, 48), (load.count, load.sum_block_kib))

    def test_a_pool_that_is_not_up_is_unknown(self):
        found = files.snapshot([Pool('a', state='without telemetry')], [])
        self.assertEqual({}, found.devices)

    def test_seen_is_the_mean_of_the_active_ones_of_a_type(self):
        active = files.volume('1', 'a', 16, volume_type='gold')
        other = dataclasses.replace(
            files.volume('2', 'a', volume_type='gold'),
            workload=Workload(50, 64, 8, iops=2000, latency_us=1000))
        idle = dataclasses.replace(
            active, id='3', workload=Workload(90, 4, 0.01))
        unseen = files.volume('4', 'a', None, volume_type='gold')
        found = files.snapshot([Pool('a')], [active, other, idle, unseen])
        self.assertEqual(
            {'gold': Workload(34, 25.6, 5)}, found.seen)
