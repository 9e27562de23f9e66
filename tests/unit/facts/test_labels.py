# SPDX-License-Identifier: Apache-2.0
import ddt
import testtools

from serifos.facts.inventory import Record
from serifos.facts import labels

A, B, C = (f'{n}0000000-0000-4000-8000-000000000000' for n in 'abc')


def record(name, same=None, different=None, project='p', servers=()):
    said = {'serifos:same_pool': same, 'serifos:different_pool': different}
    return Record(name, 1, 'available', project_id=project, metadata={
        key: value for key, value in said.items() if value is not None},
        attachments=servers)


@ddt.ddt
class LabelsTest(testtools.TestCase):

    def shared(self, *records, which='same', **more):
        """Pairs of volumes with a label in common."""
        found = labels.of(records, **more)
        its = {name: {*getattr(each, which)} for name, each in found.items()}
        return sorted((one, other) for one in its for other in its
                      if one < other and its[one] & its[other])

    @ddt.data('web', 'web,db', ' web ', 'db,web', 'web,web')
    def test_a_group(self, said):
        self.assertEqual([(A, B)], self.shared(
            record(A, 'web'), record(B, said), record(C, 'mail')))

    @ddt.data('', ',', ' , ')
    def test_nothing_is_said(self, said):
        self.assertEqual({}, labels.of([record(A, said), record(B, said)]))

    @ddt.data(B, B.upper(), f'{C},{B}')
    def test_a_volume_that_one_of_them_names(self, said):
        self.assertEqual([(A, B)], self.shared(
            record(A, different=said), record(B), which='different'))

    def test_a_volume_that_is_gone_and_itself(self):
        self.assertEqual({}, labels.of([record(A, f'{A},{C}'), record(B)]))

    @ddt.data('web', A)
    def test_no_other_project_is_bound(self, said):
        for which in 'same', 'different':
            self.assertEqual([], self.shared(
                record(A, **{which: 'web'}),
                record(B, project='q', **{which: said}), which=which))

    def test_the_volumes_of_a_server(self):
        its = (record(A, servers=('s',)), record(B, servers=('s',)),
               record(C, servers=('t', '')))
        self.assertEqual({}, labels.of(its))
        self.assertEqual([(A, B)], self.shared(
            *its, server_volumes='together'))
        self.assertEqual([(A, B)], self.shared(
            *its, which='different', server_volumes='apart'))

    def test_volumes_of_a_server_that_are_kept_apart_are_not_kept_together(
            self):
        self.assertEqual([], self.shared(
            record(A, different='raid', servers=('s',)),
            record(B, different='raid', servers=('s',)),
            server_volumes='together'))
