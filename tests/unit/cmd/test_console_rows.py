# SPDX-License-Identifier: Apache-2.0
"""Rows of top, by the columns that a terminal takes for a name."""

import ddt
from rich import cells
import testtools

from serifos.cmd.console import rows


@ddt.ddt
class RowsTest(testtools.TestCase):

    @ddt.data(None, 24, 30)
    def test_columns_begin_below_one_another(self, width):
        found = [line.plain for line in rows.Rows(
            ('VOLUME', 'IOPS', 'pool'), [
                ('漢字のボリューム名 1', '5', 'node1'),
                ('漢字のボリューム名 2', '12', 'node2'), ('db', '1', 'node1')],
            names=(0, 2)).lines(width)]
        self.assertEqual(1, len({cells.cell_len(line.partition('node')[0])
                                 for line in found[1:]}), found)
        if width is not None:
            self.assertLessEqual(max(map(cells.cell_len, found)), width)
            for number, line in enumerate(found[1:3], 1):
                self.assertRegex(line, fr'^漢字.*….*名 {number} ')
