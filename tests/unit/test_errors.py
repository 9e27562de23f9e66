# SPDX-License-Identifier: Apache-2.0
import ddt
import hypothesis
from hypothesis import strategies
import testtools

from serifos import errors


class OneSentenceTest(testtools.TestCase):

    def test_line_ends_and_escapes_of_a_terminal_are_left_out(self):
        self.assertEqual(
            'The file a b [31mred is not there.', str(errors.InputError(
                'The file a\n\r\tb \x1b[31mred is not there.')))

    def test_what_turns_the_direction_of_writing_is_shown(self):
        for code in *range(0x202a, 0x202f), *range(0x2066, 0x206a), 0x200f:
            self.assertEqual(f'There is no a\\u{code:04x}gnp.exe.', str(
                errors.InputError(f'There is no a{chr(code)}gnp.exe.')))

    def test_letters_of_all_languages_stay(self):
        said = 'Il n’y a pas de fichier – 漢字, שלום, Ω.'
        self.assertEqual(said, str(errors.InputError(said)))

    def test_a_long_text_keeps_its_beginning_and_the_remedy(self):
        said = str(errors.CloudError(
            f'Cinder says {"x" * 5000}; look at [cinder] of serifos.conf.'))
        self.assertLess(len(said), 1000)
        self.assertTrue(said.startswith('Cinder says xxx'), said)
        self.assertTrue(said.endswith('look at [cinder] of serifos.conf.'))

    def test_a_text_of_escapes_is_no_longer_than_another(self):
        self.assertEqual(len(errors.one_line('a' * 5000)),
                         len(errors.one_line('\ufeff' * 5000)))

    @hypothesis.given(strategies.text(strategies.characters()))
    def test_any_text_can_be_printed_on_one_line(self, text):
        said = str(errors.DeviceError(text))
        self.assertLessEqual(len(said.splitlines()), 1)
        self.assertTrue(said.isprintable())
        said.encode('utf-8')


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

    @hypothesis.given(strategies.text(
        strategies.characters(exclude_categories=['Z', 'C']), min_size=1))
    def test_whatever_the_password(self, password):
        self.assertEqual('see http://***@host/path', errors.masked(
            f'see http://user:{password}@host/path'))

    def test_a_long_text_takes_no_long_time(self):
        errors.masked('http://a?' * 200_000)
