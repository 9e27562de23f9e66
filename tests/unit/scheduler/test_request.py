# SPDX-License-Identifier: Apache-2.0

import ddt
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies
import testtools

from serifos.facts import names
from serifos.facts.workload import Workload
from serifos.scheduler.request import expected
from serifos.scheduler.request import Request

DEFAULT = Workload(30, 16, 8)

ODD = strategies.recursive(
    strategies.none() | strategies.booleans() | strategies.floats()
    | strategies.text(max_size=5)
    | strategies.integers(), lambda inner: strategies.lists(inner, max_size=2)
    | strategies.dictionaries(strategies.sampled_from(
        ['request_spec', 'volume_type', 'volume_properties', 'extra_specs',
         'qos_specs', 'scheduler_hints', 'size', 'name', 'specs', 'host',
         'serifos:write_pct', 'total_iops_sec', 'operation']), inner,
        max_size=4), max_leaves=12)


@ddt.ddt
class RequestTest(testtools.TestCase):

    @settings(max_examples=50, deadline=None)
    @given(ODD)
    def test_whatever_cinder_hands_over_is_a_request(self, odd):
        found = Request.of(odd)
        newcomer = expected(found, None, DEFAULT, lambda text: None)
        self.assertTrue(newcomer.workload.is_active())
        found.slo_us(lambda text: None)

    @ddt.data(('4000', 4000), (None, None), ('0', None), ('soon', None))
    @ddt.unpack
    def test_slo(self, value, slo):
        found = Request(extra_specs={names.SLO: value}).slo_us(
            [].append)
        self.assertEqual(slo, found)

    def test_the_shapes_of_qos(self):
        for properties in (
                {'qos_specs': {'total_iops_sec': '5'}},
                {'request_spec': {'volume_properties': {
                    'qos_specs': {'total_iops_sec': '5'}}}},
                {'request_spec': {'qos_specs': {
                    'id': 'x', 'specs': {'total_iops_sec': '5'}}}}):
            self.assertEqual({'total_iops_sec': '5'},
                             Request.of(properties).qos, properties)

    def test_home_of_a_volume_that_lives(self):
        spec = {'volume_properties': {'host': 'h@b#p', 'cluster_name': None}}
        self.assertEqual('h@b#p', Request.of({'request_spec': spec}).home)
