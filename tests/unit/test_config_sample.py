# SPDX-License-Identifier: Apache-2.0
"""The shipped sample configuration has exactly today's options."""

import pathlib

import fixtures
from oslo_config import generator
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
