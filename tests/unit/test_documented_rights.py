# SPDX-License-Identifier: Apache-2.0
"""The rights of admin/rights.rst are those of the example policies."""

import pathlib
import re

import ddt
import testtools

ROOT = pathlib.Path(__file__).parents[2]
RULES = {'serifos_reads', 'serifos_acts', 'admin_api', 'admin_or_owner'}
"""What the policies are made of."""


@ddt.ddt
class RightsTest(testtools.TestCase):

    @ddt.data(('cinder', 'Cinder'), ('nova', 'Nova'))
    @ddt.unpack
    def test_the_policies_are_those_documented(self, service, title):
        text = (ROOT / f'etc/serifos/examples/policy/{service}-policy.yaml'
                ).read_text()
        said = (ROOT / 'doc/source/admin/rights.rst').read_text()
        tables = re.findall(rf'list-table:: {title},.*?(?=\n\S)', said, re.S)
        named = re.findall('``([a-z_]+(?:[:][a-z_:-]+)?)``', ' '.join(
            '\n'.join(re.findall(r'\* - ((?:``.*\n\s*)+)- ', table))
            for table in tables))
        self.assertEqual(
            {*re.findall('^"([^"]+)": "', text, re.M)} - RULES, {*named})
