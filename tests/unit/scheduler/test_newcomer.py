# SPDX-License-Identifier: Apache-2.0

import ddt
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import testtools

from serifos.scheduler import newcomer as nc
from serifos import workload as wl

DEFAULT = wl.Workload(30, 16, 8)
SEEN = {'gold': wl.Workload(10, 64, 3.5, 80)}


def request(**facts):
    return nc.Request(operation='create_volume', volume_type='gold', **facts)


@ddt.ddt
class ExpectedTest(testtools.TestCase):

    def expect(self, seen=SEEN, **facts):
        self.refused = []
        return nc.expected(
            request(**facts), seen, DEFAULT, self.refused.append)

    def test_hint_then_type_then_seen_then_default_figure_by_figure(self):
        found = self.expect(
            hints={'serifos:write_pct': '70'},
            extra_specs={'serifos:write_pct': '60',
                         'serifos:block_kib': '128'})
        self.assertEqual(wl.Workload(70, 128, 3.5, 80), found.workload)
        self.assertEqual(
            'write_pct 70 from the scheduler hint, block_kib 128 from volume '
            'type gold, iodepth 3.5 from what volume type gold was seen '
            'doing', str(found))

    def test_default_where_nobody_tells(self):
        found = self.expect(seen={})
        self.assertEqual(DEFAULT, found.workload)
        self.assertEqual({'the configured default'},
                         set(found.sources.values()))

    @ddt.data('much', 'nan', 'inf', '-1', '101', '', [], {}, 1e999)
    def test_a_bad_value_is_refused_and_the_next_source_asked(self, value):
        found = self.expect(
            hints={'serifos:write_pct': value},
            extra_specs={'serifos:write_pct': '60'})
        self.assertEqual(60, found.workload.write_pct)
        self.assertEqual(1, len(self.refused))
        self.assertIn('the scheduler hint is ignored', self.refused[0])

    @ddt.data(('serifos:block_kib', '0'), ('serifos:iodepth', '0'),
              ('serifos:block_kib', '1e9'))
    @ddt.unpack
    def test_bounds_of_the_others(self, key, value):
        self.assertEqual(SEEN['gold'],
                         self.expect(extra_specs={key: value}).workload)
        self.assertIn('give a figure from', self.refused[0])

    @ddt.data(({'total_iops_sec': '500'}, 500),
              ({'total_bytes_sec': str(64 * 1024 * 100)}, 100),
              ({'total_iops_sec': '50',
                'total_bytes_sec': str(64 * 1024 * 100)}, 50),
              ({'total_iops_sec': '0'}, None),
              ({'total_iops_sec': 'lots'}, None),
              ({'consumer': 'front-end'}, None))
    @ddt.unpack
    def test_qos_bounds_the_requests(self, qos, iops):
        found = self.expect(qos=qos)
        self.assertEqual(iops, found.workload.iops)
        self.assertEqual(iops is not None, 'by QoS' in str(found))

    @ddt.data(('4000', 4000), (None, None), ('0', None), ('soon', None))
    @ddt.unpack
    def test_promise(self, value, promise):
        found = request(extra_specs={nc.PROMISE: value}).promise_us(
            [].append)
        self.assertEqual(promise, found)


ODD = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5)
    | st.integers(), lambda inner: st.lists(inner, max_size=2)
    | st.dictionaries(st.sampled_from(
        ['request_spec', 'volume_type', 'volume_properties', 'extra_specs',
         'qos_specs', 'scheduler_hints', 'size', 'name', 'specs', 'host',
         'serifos:write_pct', 'total_iops_sec', 'operation']), inner,
        max_size=4), max_leaves=12)


class RequestTest(testtools.TestCase):

    @settings(max_examples=50)
    @given(ODD)
    def test_whatever_cinder_hands_over_is_a_request(self, odd):
        found = nc.Request.of(odd)
        newcomer = nc.expected(found, SEEN, DEFAULT, lambda text: None)
        self.assertTrue(newcomer.workload.is_active())
        found.promise_us(lambda text: None)

    def test_the_shapes_of_qos(self):
        for properties in (
                {'qos_specs': {'total_iops_sec': '5'}},
                {'request_spec': {'volume_properties': {
                    'qos_specs': {'total_iops_sec': '5'}}}},
                {'request_spec': {'qos_specs': {
                    'id': 'x', 'specs': {'total_iops_sec': '5'}}}}):
            self.assertEqual({'total_iops_sec': '5'},
                             nc.Request.of(properties).qos, properties)

    def test_home_of_a_volume_that_lives(self):
        spec = {'volume_properties': {'host': 'h@b#p', 'cluster_name': None}}
        self.assertEqual('h@b#p', nc.Request.of({'request_spec': spec}).home)
