# SPDX-License-Identifier: Apache-2.0

import ddt
from hypothesis import given
from hypothesis import strategies
from rich import cells
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

    def test_what_does_not_fit_stands_below_its_row(self) -> None:
        id_ = 'a06cef3c-2823-5278-8af0-5e278b902de5'
        found = table.Table(
            ('volume', 'GiB', 'to', 'why', 'id'),
            [('db', 60.0, 'node1', 'it is slow ' * 3, id_),
             ('web', 1.5, 'node2', None, id_)], 'Moves')
        with table.narrowed(50):
            narrow = table.as_text(found)
        self.assertEqual(
            'Moves\nvolume  GiB  to\n------  ---  -----\ndb       60  node1\n'
            '    why it is slow it is slow it is slow , id\n'
            f'    {id_}\nweb     1.5  node2\n    id {id_}', narrow)
        self.assertIn(f'{id_}\nweb', table.as_text(found))

    @ddt.data('漢字のボリューム名', 'ｶﾞﾗｽ', 'cafe\u0301', '볼륨 A')
    def test_columns_begin_where_those_above_do(self, name: str) -> None:
        lines = table.as_text(table.Table(('volume', 'to'), [
            (name, 'node1'), ('b', 'node1')])).splitlines()[1:]
        self.assertEqual([cells.cell_len(lines[0]) + 3], list({
            cells.cell_len(line) for line in lines[1:]}))

    @given(strategies.integers(40, 200), strategies.lists(strategies.lists(
        strategies.text('ab -漢', min_size=1, max_size=17), min_size=5,
        max_size=5),
        min_size=1))
    def test_nothing_is_lost_and_nothing_is_wider(self, width, rows):
        found = table.Table('VWXYZ', rows)
        with table.narrowed(width):
            lines = table.as_text(found).split('\n')
        self.assertLessEqual(max(map(cells.cell_len, lines)), width)
        for letter in 'ab漢':
            self.assertEqual(
                sum(cell.count(letter) for row in rows for cell in row),
                ''.join(lines).count(letter))
