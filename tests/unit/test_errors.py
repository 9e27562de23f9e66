# SPDX-License-Identifier: Apache-2.0
import hypothesis
from hypothesis import strategies as st
import testtools

from serifos import errors


class OneSentenceTest(testtools.TestCase):

    def test_line_ends_and_escapes_of_a_terminal_are_left_out(self):
        self.assertEqual(
            'The file a b [31mred is not there.', str(errors.InputError(
                'The file a\n\r\tb \x1b[31mred is not there.')))

    def test_a_long_text_keeps_its_beginning_and_how_to_mend_it(self):
        said = str(errors.CloudError(
            f'Cinder says {"x" * 5000}; look at [cinder] of serifos.conf.'))
        self.assertLess(len(said), 1000)
        self.assertTrue(said.startswith('Cinder says xxx'), said)
        self.assertTrue(said.endswith('look at [cinder] of serifos.conf.'))

    @hypothesis.given(st.text(st.characters()))
    def test_any_text_can_be_printed_on_one_line(self, text):
        said = str(errors.DeviceError(text))
        self.assertLessEqual(len(said.splitlines()), 1)
        said.encode('utf-8')
