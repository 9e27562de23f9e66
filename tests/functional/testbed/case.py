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
import sys

from testtools import content
from testtools import content_type

from tests.functional import machine
from tests.testbed import commands
from tests.testbed import layout
from tests.testbed import logs
from tests.testbed import machine as here
from tests.testbed import testbed

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
        self._attach()
        # As it is then: the testbed is gone when somebody reads it.
        self.addOnException(lambda _: self.addDetail(
            'testbed', content.text_content('\n'.join(self._state()))))
        try:
            self.testbed.wait_room()
        except (layout.TestbedError, OSError) as error:
            if commands.is_up(self.testbed):
                raise
            # No failure of this test: all that follow would fail as well.
            self._logs.rewind()
            print(f'{self.id()}: the testbed broke down before it, and is '
                  f'made anew: {error}', *self._state(), sep='\n',
                  file=sys.stderr, flush=True)
            shared.cache_clear()
            self._attach()
            self.testbed.wait_room()

    def _attach(self) -> None:
        found = shared(self.nova)
        if isinstance(found, layout.Missing):
            self.need(False, str(found))
        if isinstance(found, layout.TestbedError):
            raise found
        self.testbed = found
        self._logs = logs.Logs(found)

    def _state(self) -> list[str]:
        """What is dead, what services complained of, what room is left."""
        dead = [name for name, alive in
                self.testbed.status()['processes'].items() if not alive]
        lines = [f"dead: {', '.join(dead) or 'no process'}", *here.left()]
        for name, said in self._logs.complaints().items():
            lines += [f'{name}:', *(f'  {line}' for line in said)]
        return lines

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
