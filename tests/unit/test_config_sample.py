# SPDX-License-Identifier: Apache-2.0
"""The shipped sample configuration has exactly today's options."""

import pathlib
import re

import fixtures
from oslo_config import generator
from oslo_config import validator
import testtools

from serifos import conf

ROOT = pathlib.Path(__file__).parents[2]
ETC = ROOT / 'etc' / 'serifos'


class ConfigSampleTest(testtools.TestCase):

    def test_sample_is_what_the_generator_writes(self):
        written = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path, 'sample')
        generator.main([
            '--config-file', str(ETC / 'serifos-config-generator.conf'),
            '--output-file', str(written)])
        self.assertEqual(
            (ETC / 'serifos.conf.sample').read_text(), written.read_text(),
            'the options changed; run tox -e genconfig and commit '
            'etc/serifos/serifos.conf.sample')

    def test_every_option_is_in_the_sample(self):
        sample = (ETC / 'serifos.conf.sample').read_text()
        for group, opts in conf.list_opts():
            self.assertIn(f'[{group.name}]\n', sample)
            for opt in opts:
                self.assertIn(f'\n#{opt.dest} =', sample)

    def test_oslo_config_validator_takes_what_is_documented(self):
        page = (ROOT / 'doc/source/configuration/index.rst').read_text()
        minimal, = re.findall(r'code-block:: ini\n\n((?:   .*\n|\n)+)', page)
        self.assertEqual(7, minimal.count(' = '))
        directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        for text, code in (
                (re.sub(r'(?m)^#(\w+ = (?!<None>))', r'\1',
                        (ETC / 'serifos.conf.sample').read_text()), 0),
                (re.sub('(?m)^   ', '', minimal), 0),
                ('[balancer]\nmax_move = 1\n', 1)):
            file = directory / 'serifos.conf'
            file.write_text(text)
            options = re.search(r'oslo-config-validator ((?:.*\\\n)+.*)\n',
                                page)[1].replace('\\\n', '').split()
            options[-1] = str(file)
            self.useFixture(fixtures.MonkeyPatch(
                'sys.argv', ['oslo-config-validator', *options]))
            self.assertEqual(code, validator.main(), text)
            self.assertEqual(bool(code), bool(
                conf.load([str(file)]).unknown()))
