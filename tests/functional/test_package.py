# SPDX-License-Identifier: Apache-2.0
"""A wheel made without git holds all data files."""

import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import fixtures
import testtools

ROOT = pathlib.Path(__file__).parents[2]
TREE = ('serifos', 'etc')
FILES = ('pyproject.toml', 'setup.cfg', 'setup.py', 'requirements.txt',
         'README.rst', 'LICENSE')


class PackageTest(testtools.TestCase):

    def test_wheel_from_a_copy_without_git(self):
        copy = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        for name in TREE:
            shutil.copytree(ROOT / name, copy / name)
        for name in FILES:
            shutil.copy(ROOT / name, copy)
        subprocess.run(
            [sys.executable, '-m', 'pip', 'wheel', '-q', '--no-deps',
             '--no-build-isolation', '-w', copy / 'dist', copy],
            check=True, env={**os.environ, 'PBR_VERSION': '1.2.3'})
        wheel, = (copy / 'dist').glob('serifos-1.2.3-*.whl')
        names = set(zipfile.ZipFile(wheel).namelist())
        for kind in ('dataset', 'run', 'model', 'cluster', 'plan'):
            self.assertIn(f'serifos/files/schemas/{kind}.json', names)
        share = 'serifos-1.2.3.data/data/share/serifos'
        self.assertIn(f'{share}/serifos.conf.sample', names)
        self.assertIn(f'{share}/examples/cluster.json', names)
