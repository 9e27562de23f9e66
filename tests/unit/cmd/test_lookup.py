# SPDX-License-Identifier: Apache-2.0
import ddt
import testtools

from serifos.cmd.balancer import lookup
from serifos import errors
from serifos.facts import cluster
from serifos.report import wording

CLUSTER = cluster.Cluster(
    (cluster.Pool('n1@s#s'), cluster.Pool('n2@s#s'), cluster.Pool('n2@t#t')),
    (cluster.Volume('abcd-1', 'n1@s#s', 1, name='db'),
     cluster.Volume('abcd-2', 'n1@s#s', 1, name='log'),
     cluster.Volume('ef', 'n1@s#s', 1, name='log'),
     cluster.Volume('n1', 'n1@s#s', 1, name='abcd-1')))


@ddt.ddt
class LookupTest(testtools.TestCase):

    @ddt.data(('n1@s#s', 'n1@s#s'), ('n1', 'n1@s#s'), ('n2@t', 'n2@t#t'))
    @ddt.unpack
    def test_a_pool(self, said, name):
        self.assertEqual(CLUSTER.pool(name), lookup.find(CLUSTER, said))

    @ddt.data(('db', 'abcd-1'), ('abcd-1', 'abcd-1'), ('ef', 'ef'))
    @ddt.unpack
    def test_a_volume(self, said, name):
        self.assertEqual(CLUSTER.volume(name), lookup.find(CLUSTER, said))

    def test_a_pool_with_the_domain_and_without(self):
        few = cluster.Cluster((cluster.Pool('n1.example.org@s#s'),
                               cluster.Pool('n2.example.org@s#s')), ())
        for said in ('n1', 'n1.example.org', 'n1.example.org@s',
                     'n1.example.org@s#s'):
            self.assertIs(few.pools[0], lookup.find(few, said))

    def test_a_pool_by_its_first_label(self):
        racks = cluster.Cluster((cluster.Pool('n1.rack-1@s#s'),
                                 cluster.Pool('n2.rack-2@s#s'),
                                 cluster.Pool('n11.rack-1@s#s')), ())
        self.assertIs(racks.pools[0], lookup.find(racks, 'n1'))
        self.assertRaises(errors.InputError, lookup.find, racks, 'n')

    def test_a_volume_as_tables_call_it(self):
        long = 'x' * 70
        few = cluster.Cluster((), (
            cluster.Volume('0123456789', 'a', 1, name=long),
            cluster.Volume('1123456789', 'a', 1, name='data'),
            cluster.Volume('2123456789', 'a', 1, name='data')))
        for volume, said in zip(few.volumes, wording.volumes(few).values()):
            self.assertIs(volume, lookup.find(few, said))
        self.assertIs(few.volumes[0], lookup.find(few, long[:24]))

    def test_the_beginning_of_an_id(self):
        few = cluster.Cluster((), CLUSTER.volumes[:1])
        self.assertEqual('abcd-1', lookup.find(few, 'abcd').id)
        self.assertRaises(errors.InputError, lookup.find, few, 'abc')

    @ddt.data(('log', '2 volumes are called log; give one of their ids: '
                      'abcd-2, ef.'),
              ('abcd', 'give one of their ids: abcd-1, abcd-2.'),
              ('n2', '2 pools are called n2; give one of their names: '
                     'n2@s#s, n2@t#t.'),
              ('n3', 'no pool and no volume n3.'),
              ('a\nb', 'no pool and no volume a b.'))
    @ddt.unpack
    def test_none_or_several(self, said, words):
        found = self.assertRaises(
            errors.InputError, lookup.find, CLUSTER, said)
        self.assertIn(words, str(found))
