# SPDX-License-Identifier: Apache-2.0
import ddt
import hypothesis
from hypothesis import strategies as st
import testtools

from serifos import errors


@ddt.ddt
class MaskTest(testtools.TestCase):

    @ddt.data(
        ('http://host:9100/metrics', 'http://host:9100/metrics'),
        ('http://u:p@host/metrics', 'http://***@host/metrics'),
        ('mysql://u:p@ss/w#o?rd@host/db', 'mysql://***@host/db'),
        ('cannot use etcd3+http://u:p@h: refused (a@ssd#ssd)',
         'cannot use etcd3+http://***@h: refused (a@ssd#ssd)'),
        ('node1@ssd#ssd is up', 'node1@ssd#ssd is up'),
        ('a@ssd:http://h/x', 'a@ssd:http://h/x'),
        ('http://h/m?Api_Token=abc&x=1;my-password=z',
         'http://h/m?Api_Token=***&x=1;my-password=***'),
        ("('mysql://u:p@h',)", "('mysql://***@h',)"))
    @ddt.unpack
    def test_a_text(self, text, shown):
        self.assertEqual(shown, errors.masked(text))

    def test_every_error_is_masked(self):
        self.assertEqual('redis://***@h does not answer', str(
            errors.CloudError('redis://:secret@h does not answer')))

    @hypothesis.given(st.text(st.characters(exclude_categories=[
        'Z', 'C']), min_size=1))
    def test_whatever_the_password(self, password):
        self.assertEqual('see http://***@host/path', errors.masked(
            f'see http://user:{password}@host/path'))

    def test_a_long_text_takes_no_long_time(self):
        errors.masked('http://a?' * 200_000)
