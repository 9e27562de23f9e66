# SPDX-License-Identifier: Apache-2.0
"""The kernel of the tests' guests, out of a package that apt has."""

from concurrent import futures
import os
import pathlib

import fixtures
import testtools

from tests.testbed import kernel

PROGRAMS = {
    'apt-cache': """\
        case $1 in
            depends) echo '  Depends: linux-image-6.1-amd64' ;;
            policy) echo '  Candidate: 6.1.2-1' ;;
        esac""",
    'apt-get': """\
        for word; do [ "$word" = download ] && break; done
        [ "$word" ] && echo >> "$DOWNLOADS" && sleep 0.3 && : > one.deb""",
    'dpkg-deb': """\
        mkdir -p "$3/boot" "$3/lib/modules"
        echo image > "$3/boot/vmlinuz-6.1"
        printf '\\0depends=lib\\0' > "$3/lib/modules/disk.ko"
        printf '\\0depends=\\0' > "$3/lib/modules/lib.ko" """}
"""Those that find, fetch and unpack a package."""


class KernelTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.home = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        programs = self.home / 'bin'
        programs.mkdir()
        for name, body in PROGRAMS.items():
            (programs / name).write_text(f'#!/bin/sh\n{body}\n')
            (programs / name).chmod(0o755)
        self.downloads = self.home / 'downloads'
        for name, value in {
                'PATH': f'{programs}:{os.environ["PATH"]}',
                'DOWNLOADS': str(self.downloads),
                'XDG_CACHE_HOME': str(self.home)}.items():
            self.useFixture(fixtures.EnvironmentVariable(name, value))

    def test_several_that_ask_at_the_same_time_share_one_download(self):
        with futures.ThreadPoolExecutor(4) as pool:
            found = [*pool.map(
                lambda _: kernel.fetch('linux-image-amd64', ['disk']),
                range(4))]
        self.assertEqual({found[0]}, {*found})
        self.assertEqual('image\n', found[0].image.read_text())
        self.assertEqual(['lib.ko', 'disk.ko'],
                         [path.name for path in found[0].modules])
        self.assertEqual('\n', self.downloads.read_text())
