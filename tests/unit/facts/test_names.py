# SPDX-License-Identifier: Apache-2.0
import ddt
import testtools

from serifos.facts import names


@ddt.ddt
class PoolTest(testtools.TestCase):

    @ddt.data(('node1@ssd#fast', 'node1', 'node1@ssd', 'fast'),
              ('node1@ssd', 'node1', 'node1@ssd', ''),
              ('node1', 'node1', 'node1', ''),
              ('a@b#c#d', 'a', 'a@b', 'c#d'), ('', '', '', ''))
    @ddt.unpack
    def test_parts(self, pool, *parts):
        self.assertEqual(parts, (names.host(pool), names.backend(pool),
                                 names.pool_name(pool)))

    def test_the_shortest_name_that_is_of_one_pool(self):
        self.assertEqual(
            {'a@x#x': 'a', 'b@x#x': 'b@x', 'b@y#1': 'b@y#1', 'b@y#2': 'b@y#2',
             'c': 'c', '@#': '@'},
            names.short(['a@x#x', 'b@x#x', 'b@y#1', 'b@y#2', 'c', '@#']))

    @ddt.data(
        (['a.x.org@s#s', 'b.x.org@s#s'], ['a', 'b']),
        (['a.r1.x.org@s#s', 'a.r2.x.org@s#s'], ['a.r1', 'a.r2']),
        (['a.x.org@s#1', 'a.x.org@s#2'], ['a@s#1', 'a@s#2']),
        (['a@s#s', 'b.x.org@s#s'], ['a', 'b.x.org']),
        (['x.org@s#s', 'a.x.org@s#s'], ['x', 'a.x']),
        (['10.1.0.5@s#s', '10.2.0.5@s#s'], ['10.1.0.5', '10.2.0.5']))
    @ddt.unpack
    def test_the_domain_of_all_hosts_is_left_out(self, pools, said):
        self.assertEqual(dict(zip(pools, said)), names.short(pools))


@ddt.ddt
class SloTest(testtools.TestCase):

    @ddt.data(('4000', 4000.0), (' 1e3', 1000.0), (500, 500.0),
              ('0.001', 0.001), ('1e12', 1e12))
    @ddt.unpack
    def test_an_slo(self, said, slo):
        self.assertEqual(slo, names.slo_us({names.SLO: said}))

    @ddt.data({}, {names.SLO: None}, {'max_latency_us': '4000'})
    def test_no_slo(self, specs):
        self.assertIsNone(names.slo_us(specs))

    @ddt.data('soon', '', '-1', '0', '0.0009', '1.1e12', 'inf', 'nan', True,
              [], {}, '1' * 10 ** 6, 10 ** 400)
    def test_what_is_no_figure(self, said):
        error = self.assertRaises(
            ValueError, names.slo_us, {names.SLO: said})
        self.assertIn('is not a number from 0.001 to 1e+12', str(error))
        self.assertLess(len(str(error)), 150)
