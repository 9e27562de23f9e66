# SPDX-License-Identifier: Apache-2.0
import ddt
import testtools

from serifos.cmd import lookup
from serifos import errors
from serifos.facts import cluster as cl

CLUSTER = cl.Cluster(
    (cl.Pool('n1@s#s'), cl.Pool('n2@s#s'), cl.Pool('n2@t#t')),
    (cl.Volume('abcd-1', 'n1@s#s', 1, name='db'),
     cl.Volume('abcd-2', 'n1@s#s', 1, name='log'),
     cl.Volume('ef', 'n1@s#s', 1, name='log'),
     cl.Volume('n1', 'n1@s#s', 1, name='abcd-1')))


@ddt.ddt
class LookupTest(testtools.TestCase):

    @ddt.data(('n1@s#s', 'n1@s#s'), ('n1', 'n1@s#s'), ('n2@t', 'n2@t#t'))
    @ddt.unpack
    def test_a_pool(self, said, name):
        self.assertEqual(CLUSTER.pool(name), lookup.found(CLUSTER, said))

    @ddt.data(('db', 'abcd-1'), ('abcd-1', 'abcd-1'), ('ef', 'ef'))
    @ddt.unpack
    def test_a_volume(self, said, name):
        self.assertEqual(CLUSTER.volume(name), lookup.found(CLUSTER, said))

    def test_the_beginning_of_an_id(self):
        few = cl.Cluster((), CLUSTER.volumes[:1])
        self.assertEqual('abcd-1', lookup.found(few, 'abcd').id)
        self.assertRaises(errors.InputError, lookup.found, few, 'abc')

    @ddt.data(('log', '2 volumes are called log; give one of their ids: '
                      'abcd-2, ef.'),
              ('abcd', 'give one of their ids: abcd-1, abcd-2.'),
              ('n2', 'no pool and no volume n2.'),
              ('a\nb', 'no pool and no volume a b.'))
    @ddt.unpack
    def test_none_or_several(self, said, words):
        found = self.assertRaises(
            errors.InputError, lookup.found, CLUSTER, said)
        self.assertIn(words, str(found))
