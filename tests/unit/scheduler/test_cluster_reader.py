# SPDX-License-Identifier: Apache-2.0

import io
import json
import os

import ddt
from hypothesis import given
from hypothesis import HealthCheck
from hypothesis import settings
from hypothesis import strategies
import testtools

from serifos import errors
from serifos.facts import fields
from serifos.files import documents
from serifos.files import json_parts
from serifos.scheduler import cluster_reader
from tests.unit import case
from tests.unit.scheduler import files

HEAD = {'schema': 'serifos-cluster/1'}
WORKLOAD = {'write_pct': 30, 'block_kib': 16, 'iops': 2000,
            'latency_us': 4000, 'iodepth': None}
VOLUME = {'id': '1', 'pool': 'a', 'size_gib': 10, 'volume_type': 'gold',
          'max_latency_us': 4000, 'workload': WORKLOAD, 'movable': True}
POOL = {'name': 'a', 'model': None, 'device': 'sdb', 'state': 'down',
        'copies_gib': 4.5}
WHOLE = {**HEAD, 'observed_at': '2026-11-20T12:00:00Z', 'pools': [POOL],
         'volumes': [VOLUME]}


def with_volume(**changes):
    return {**WHOLE, 'volumes': [{**VOLUME, **changes}]}


def with_pool(**changes):
    return {**WHOLE, 'pools': [{**POOL, **changes}]}


ODD = (
    [], 7, {}, {**WHOLE, 'schema': 'serifos-cluster/9'},
    {**HEAD, 'pools': []}, {**HEAD, 'volumes': []},
    {**WHOLE, 'pools': None}, {**WHOLE, 'pools': {}}, {**WHOLE, 'pools': [7]},
    {**WHOLE, 'volumes': 'many'}, {**WHOLE, 'observed_at': 7},
    with_pool(name=''), with_pool(name=None), with_pool(device=1),
    with_pool(copies_gib=-1), with_pool(state=[]), with_pool(model=False),
    with_volume(id=''), with_volume(pool=None), with_volume(size_gib='10'),
    with_volume(size_gib=None), with_volume(size_gib=-1),
    with_volume(size_gib=True), with_volume(max_latency_us=0),
    with_volume(volume_type=1), with_volume(id='x' * 5000),
    with_volume(size_gib=1e16), with_volume(max_latency_us=1e16),
    with_pool(device='x' * 5000), with_pool(copies_gib=1e31),
    with_volume(workload=[]),
    with_volume(workload={'write_pct': 1}),
    *(with_volume(workload={**WORKLOAD, name: value}) for name, value in (
        ('write_pct', 101), ('write_pct', None), ('block_kib', -1),
        ('iops', 1e13), ('latency_us', '4'), ('iodepth', []),
        ('random_pct', 101))))


@ddt.ddt
class ClusterTest(case.DirectoryCase):

    def setUp(self):
        super().setUp()
        self.path = self.dir / 'cluster.json'

    def read(self, text):
        self.path.write_text(text)
        return files.finish(cluster_reader.read(self.path))

    def refused(self, text):
        return str(self.assertRaises(errors.FormatError, self.read, text))

    @ddt.data(WHOLE, {**HEAD, 'pools': [], 'volumes': []},
              {'volumes': [VOLUME], **HEAD, 'pools': [POOL], 'more': {}},
              with_pool(state=None), with_volume(workload=None),
              with_volume(workload={'write_pct': 0, 'block_kib': 0}))
    def test_what_the_scheduler_uses_is_what_others_read(self, doc):
        for indent in (None, 1):
            found = self.read(json.dumps(doc, indent=indent))
            whole = documents.read_cluster(self.path)
            self.assertEqual(
                fields.Field(whole.observed_at).moment_or_none(),
                found.observed_at)
            self.assertEqual(
                [(p.name, p.model, p.state, p.device_key, p.copies_gib)
                 for p in whole.pools],
                [(p.name, p.model, p.state, p.device_key, p.copies_gib)
                 for p in found.pools])
            self.assertEqual(
                [(v.id, v.pool, v.size_gib, v.volume_type, v.max_latency_us,
                  v.workload) for v in whole.volumes],
                [(v.id, v.pool, v.size_gib, v.volume_type, v.max_latency_us,
                  v.workload) for v in found.volumes])

    @ddt.data(*ODD)
    def test_what_others_refuse_is_refused(self, doc):
        text = json.dumps(doc)
        self.assertIn(str(self.path), self.refused(text))
        self.assertRaises(
            errors.FormatError, documents.read_cluster, self.path)

    @ddt.data('', '{', '{"pools"', '{"pools": [', '{"pools": [{}',
              '{"pools": [1 2]}', '{7: 8}', '{"a": 1} 2', '{"a": 1,}',
              '{"a": tru', '\x00', '{"pools": [NaN]}', '{"a": "' + 'x' * 99)
    def test_what_is_not_json_is_refused(self, text):
        self.refused(text)

    def test_a_fifo_is_refused(self):
        os.mkfifo(self.path)
        self.assertIn('is a FIFO', str(self.assertRaises(
            errors.InputError, files.finish, cluster_reader.read(self.path))))

    def test_a_member_may_stand_there_once(self):
        self.assertIn('pools twice', self.refused(
            '{"pools": [], "pools": []}'))

    def test_a_number_too_large_for_a_float_is_refused(self):
        text = json.dumps(WHOLE).replace('"size_gib": 10', '"size_gib": 1e999')
        self.assertIn('volumes[0]: size_gib must be',
                      self.refused(text))

    def test_it_pauses_after_every_pool_and_volume(self):
        doc = {**HEAD, 'pools': [{'name': str(i)} for i in range(30)],
               'volumes': [{**VOLUME, 'id': str(i)} for i in range(50)]}
        self.path.write_text(json.dumps(doc))
        self.assertEqual(
            30 + 50 + 3, sum(1 for _ in cluster_reader.read(self.path)))

    def test_a_long_volume_counts_by_its_length(self):
        self.path.write_text(json.dumps(with_volume(
            metadata={'notes': 'x' * 100 * cluster_reader.LINE})))
        self.assertGreater(max(cluster_reader.read(self.path)), 100)


class PartsTest(testtools.TestCase):

    @settings(max_examples=30, deadline=None,
              suppress_health_check=[HealthCheck.too_slow])
    @given(strategies.dictionaries(
        strategies.sampled_from(['pools', 'more', 'a "quoted" name']),
        strategies.recursive(
            strategies.none() | strategies.booleans() | strategies.integers()
            | strategies.text(max_size=9)
            | strategies.floats(allow_nan=False, allow_infinity=False),
            lambda inner: strategies.lists(inner, max_size=4)
            | strategies.dictionaries(strategies.text(max_size=3), inner,
                                      max_size=3),
            max_leaves=9)), strategies.integers(1, 40),
           strategies.sampled_from([None, 2]))
    def test_wherever_the_file_is_cut_it_says_the_same(
            self, doc, at_once, indent):
        text = json.dumps(doc, indent=indent)
        found, elements = {}, []
        for part in json_parts.of(io.StringIO(text), ['pools'], at_once):
            if part.element:
                elements.append(part.value)
            else:
                found[part.name] = part.value
        if isinstance(doc.get('pools'), list):
            self.assertEqual(doc['pools'], elements)
            found['pools'] = elements
        self.assertEqual(doc, found)
