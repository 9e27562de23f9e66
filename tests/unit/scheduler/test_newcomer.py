# SPDX-License-Identifier: Apache-2.0

import ddt
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies
import testtools

from serifos.facts import names
from serifos.facts.workload import Workload
from serifos.scheduler.request import BOUNDS
from serifos.scheduler.request import expected
from serifos.scheduler.request import Request
from serifos.scheduler.request import rounded

DEFAULT = Workload(30, 16, 8)
SEEN = {'gold': Workload(10, 64, 3.5, 80)}


def request(**facts):
    return Request(operation='create_volume', volume_type='gold', **facts)


@ddt.ddt
class ExpectedTest(testtools.TestCase):

    def expect(self, seen=SEEN, **facts):
        self.refused = []
        return expected(
            request(**facts), seen.get('gold'), DEFAULT, self.refused.append)

    def test_hint_then_type_then_seen_then_default_figure_by_figure(self):
        found = self.expect(
            hints={'serifos:write_pct': '70'},
            extra_specs={'serifos:write_pct': '60',
                         'serifos:block_kib': '128'})
        self.assertEqual(Workload(70, 128, 3.5, 80), found.workload)
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
        self.assertIn('give a number from', self.refused[0])

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

    @ddt.data(
        ('write_pct', 0, 0), ('write_pct', 33, 35), ('write_pct', 97, 95),
        ('block_kib', 4, 4), ('block_kib', 40, 48), ('block_kib', 60, 64),
        ('block_kib', 65536, 65536), ('block_kib', 0.5, 0.5),
        ('iodepth', 0.05, 0.05), ('iodepth', 1.2, 1), ('iodepth', 5, 6),
        ('iodepth', 65000, 65536))
    @ddt.unpack
    def test_hints_are_rounded_and_extra_specs_are_not(
            self, name, told, heard):
        key = names.PREFIX + name
        self.assertEqual(heard, getattr(
            self.expect(hints={key: told}).workload, name))
        self.assertEqual(told, getattr(
            self.expect(extra_specs={key: told}).workload, name))

    def test_thousands_of_hints_are_few_workloads(self):
        found = {self.expect(hints={
            'serifos:write_pct': i % 101, 'serifos:block_kib': 4 + i / 100,
            'serifos:iodepth': 1 + i / 300}).workload for i in range(3000)}
        self.assertLess(len(found), 300)

    @settings(deadline=None)
    @given(strategies.sampled_from(sorted(BOUNDS)),
           strategies.floats(0, 1))
    def test_what_is_heard_is_near_what_was_told(self, name, part):
        least, most = BOUNDS[name]
        told = least * (most / least) ** part if least else most * part
        heard = rounded(name, told)
        self.assertTrue(least <= heard <= most)
        self.assertEqual(heard, rounded(name, heard))
        if name == 'write_pct':
            self.assertLessEqual(abs(heard - told), 2.5)
        else:
            self.assertLess(max(heard / told, told / heard), 1.23)

    @ddt.data('1' * 10**6, [[[['x' * 10**6]]]], {'a': {'b': 'x' * 10**6}})
    def test_a_huge_hint_is_refused_in_a_short_sentence(self, value):
        self.assertEqual(SEEN['gold'], self.expect(
            hints={'serifos:block_kib': value}).workload)
        self.assertLess(len(self.refused[0]), 300)
