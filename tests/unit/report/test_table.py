# SPDX-License-Identifier: Apache-2.0

import ddt
import testtools

from serifos.report import table


@ddt.ddt
class TableTest(testtools.TestCase):

    @ddt.data((None, '–'), (12390.4, '12,390'), (5.951, '5.95'),
              (0.0821, '0.0821'), (16000, '16,000'), (-250.6, '-251'),
              ('relieve', 'relieve'), (True, 'True'))
    @ddt.unpack
    def test_cells(self, value: object, text: str) -> None:
        self.assertEqual(text, table.shown(value))

    @ddt.data((0.12345, '.1f', '12.3 %'), (-0.05, '+.0f', '-5 %'),
              (None, '.1f', None))
    @ddt.unpack
    def test_percent(self, fraction: float | None, form: str,
                     text: str | None) -> None:
        self.assertEqual(text, table.percent(fraction, form))

    @ddt.data((5, True), (0.2, True), (None, True), ('-12 %', True),
              ('+3.4 %', True), ('5.95 ms', True), ('1e-05', True),
              ('SSD1', False), ('5 moves left', False), ('', False))
    @ddt.unpack
    def test_numbers(self, value: object, number: bool) -> None:
        self.assertEqual(number, table.is_number(value))

    def test_as_text(self) -> None:
        self.assertEqual(
            'Caption\nname   µs  of\n----  ---  --\na     1.5  x\n'
            'bb      –  yy',
            table.as_text(table.Table(
                ('name', 'µs', 'of'), [('a', 1.5, 'x'), ('bb', None, 'yy')],
                'Caption')))
