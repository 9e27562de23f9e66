# SPDX-License-Identifier: Apache-2.0
"""A test that needs a testbed; all tests of a process share one.

The first that asks brings it up, which takes half a minute once Cinder is
installed, one and a half with a Nova; who brought it up takes it down at the
end. One that runs already, such as a developer's, is used and left alone. One
with a Nova has a directory of its own, and serves those that need none, too.
"""

from __future__ import annotations

import atexit
from collections.abc import Sequence
import functools
import pathlib
import subprocess

from testtools import content
from testtools import content_type

from tests.functional import machine
from tests.functional.testbed import commands
from tests.functional.testbed import layout
from tests.functional.testbed import testbed

TOOL = layout.ROOT / 'tools' / 'testbed'
PLAIN, NOVA = layout.ROOT / '.testbed', layout.ROOT / '.testbed-nova'
UP_S = 1800
"""With the installation of Cinder and Nova on a busy machine."""


@functools.cache
def shared(nova: bool) -> testbed.Testbed | layout.TestbedError:
    """The testbed, or what is missing: one attempt is enough.

    :param nova: whether it is to have one; it may in any case
    """
    directory, options = (NOVA, ['--nova']) if nova else (PLAIN, [])
    for each in (PLAIN, NOVA):
        found = _running(each)
        if found and (found.nova or not nova):
            return found
    atexit.register(_take_down, directory)
    # Not on stdout, where a test's results go.
    done = subprocess.run(
        [TOOL, '--dir', directory, 'up', *options], stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=UP_S)
    if done.returncode:
        kind = {layout.Missing.exit_code: layout.Missing}.get(
            done.returncode, layout.TestbedError)
        return kind(done.stdout.strip().splitlines()[-1])
    return testbed.Testbed.attach(directory)


def _running(directory: pathlib.Path) -> testbed.Testbed | None:
    """The one of this directory, if all of it is up."""
    try:
        found = testbed.Testbed.attach(directory)
    except layout.TestbedError:
        return None
    return found if commands.is_up(found) else None


def _take_down(directory: pathlib.Path) -> None:
    subprocess.run([TOOL, '--dir', directory, 'down', '--wipe'],
                   stdout=subprocess.DEVNULL)


class TestbedTest(machine.MachineTest):
    """Has ``testbed``; a machine without one skips it, or fails in CI."""

    nova = False

    def setUp(self) -> None:
        super().setUp()
        found = shared(self.nova)
        if isinstance(found, layout.Missing):
            self.need(False, str(found))
        if isinstance(found, layout.TestbedError):
            raise found
        self.testbed = found
        self.testbed.wait_room()

    def detail(self, name: str, lines: Sequence[str]) -> None:
        """Shown where the test fails, as the lines are by then."""
        self.addDetail(name, content.Content(
            content_type.UTF8_TEXT, lambda: ['\n'.join(lines).encode()]))

    def volume(self, name: str, **options) -> str:
        """The id of a new volume, which is deleted after the test."""
        found = self.testbed.create_volume(name, **options)
        self.addCleanup(self.testbed.delete_volume, found)
        return found


class NovaTest(TestbedTest):
    """Its testbed has a Nova."""

    nova = True
