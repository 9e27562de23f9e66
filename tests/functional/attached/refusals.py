# SPDX-License-Identifier: Apache-2.0
"""An evacuation of a host whose volumes stay, each for a reason."""

import dataclasses
import re
import subprocess

from testtools import matchers

from tests.functional.attached import stage
from tests.functional.testbed import case
from tests.testbed import balancer
from tests.testbed.nova import config

PROMPT = 'Type yes: '

STAYS = {
    'encrypted': 'it is encrypted and in use: Nova does not copy such volumes',
    'grouped': 'it is in a group',
    'shared': 'it is multi-attach and in use: what a second server writes '
              'during the copy would be lost'}
STOPPED = ('its server vm ({}) is SHUTOFF; Nova copies volumes of servers '
           'that are ACTIVE, PAUSED or resized')


@dataclasses.dataclass(frozen=True)
class Evacuation:
    """What serifos-balancer evacuate said.

    ``refused`` in its plan, and the outcome of each move; name → words.
    """

    code: int
    refused: dict[str, str]
    outcomes: dict[str, str]


class RefusalsCase(case.NovaTest):
    """The tests share the server; each leaves it active."""

    _stage = None

    def setUp(self):
        super().setUp()
        cls = type(self)
        if cls._stage is None:
            cls._stage = stage.Stage(self.testbed)
            cls.addClassCleanup(cls._stage.end)
            cls._stage.begin()
        self.stage = cls._stage
        self.log_in(config.auth('admin', 'admin'))
        self.balancer.assume_models()
        self.balancer.forget()

    def log_in(self, account):
        self.balancer = balancer.Balancer(self.testbed, account)
        self.balancer.configure(allow_attached=True, max_failures=1,
                                back_off=0)

    def name(self, volume):
        return {found: name
                for name, found in self.stage.volumes.items()}[volume]

    def evacuate(self, meanwhile=None, afterwards=None):
        """With an answer of yes after what happens meanwhile, or of no."""
        process = self.balancer.start(
            'evacuate', self.testbed.host(stage.HOST).pool,
            stdin=subprocess.PIPE)
        self.addCleanup(process.kill)
        said = ''
        while not said.endswith(PROMPT) and (one := process.stdout.read(1)):
            said += one
        if meanwhile:
            self.assertThat(said, matchers.EndsWith(PROMPT))
            meanwhile()
            process.stdin.write('yes\n')
            process.stdin.flush()
        if afterwards:
            afterwards()
        out, err = process.communicate()
        self.detail('evacuate', [said, out, err])
        volume = '[0-9a-f-]{36}'
        return Evacuation(
            process.returncode,
            {self.name(found[1]): found[2] for found in re.finditer(
                rf'^({volume}) stays: (\S.*)$', said, re.M)},
            {found[1]: found[2] for found in re.finditer(
                r'^\d+ of \d+: (\S+), .*\n +(\S.*)$', out, re.M)})

    def assert_refused(self, why, *names):
        """In the plan; the others stay for reasons of their own."""
        found = self.evacuate()
        self.assertEqual(1, found.code)
        self.assertEqual({**STAYS, **dict.fromkeys(names, why)},
                         found.refused)

    def assert_not_started(self, meanwhile, **reasons):
        """Seen just before the request, which is never sent."""
        found = self.evacuate(meanwhile)
        self.assertEqual(1, found.code)
        self.assertEqual(STAYS, found.refused)
        self.assertEqual(
            {name: f'not started: {why}' for name, why in reasons.items()},
            found.outcomes)
        self.assertEqual([], self.balancer.journal())

    @property
    def server(self):
        return f'its server vm ({self.stage.server})'
