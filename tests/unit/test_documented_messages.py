# SPDX-License-Identifier: Apache-2.0
"""The messages that the page of troubleshooting quotes are serifos' own."""

import ast
import pathlib
import re

import testtools

ROOT = pathlib.Path(__file__).parents[2]
PAGE = ROOT / 'doc/source/admin/troubleshooting.rst'

QUOTED = re.compile(r'(?m)^ *((?:``[^`]+``(?:, )?)+)$')
CINDERS = {'No valid backend'}


def _texts():
    """Each text of the code, with ``%s`` for what is filled in."""
    for path in (ROOT / 'serifos').rglob('*.py'):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.JoinedStr):
                yield ''.join(part.value if isinstance(part, ast.Constant)
                              else '%s' for part in node.values)
            elif isinstance(node, ast.Constant) and isinstance(
                    node.value, str):
                yield node.value


class DocumentedMessagesTest(testtools.TestCase):

    def test_every_message_is_one_of_the_code(self):
        code = '\n'.join(_texts())
        found = [quoted for line in QUOTED.findall(PAGE.read_text())
                 for quoted in re.findall(r'``([^`]+)``', line)]
        self.assertLess(20, len(found))
        for quoted in found:
            for part in quoted.split('...'):
                part = ' '.join(part.split()).strip(' ,;')
                if part not in CINDERS:
                    self.assertIn(part, code, quoted)
