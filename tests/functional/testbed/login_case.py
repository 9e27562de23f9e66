# SPDX-License-Identifier: Apache-2.0
"""Tests of serifos-balancer as a user of the testbed's Keystone."""

from tests.functional.testbed import case
from tests.testbed import balancer
from tests.testbed import cinder
from tests.testbed import layout
from tests.testbed import network
from tests.testbed.nova import accounts
from tests.testbed.nova import config

BRIEF_PORT = 5001
EXPIRY_S = 35
"""Of a token of the Keystone at BRIEF_PORT; it is renewed once 5 s old."""


class LoginCase(case.NovaTest):
    """Has ``accounts``, and a balancer that has seen nothing yet."""

    def setUp(self):
        super().setUp()
        self.accounts = accounts.Accounts(self.testbed)
        state = balancer.Balancer(self.testbed)
        state.forget()
        state.assume_models()

    def run_as(self, login, *arguments, nova=''):
        """(exit code, stdout, stderr) of serifos-balancer.

        :param login: options of [cinder]
        :param nova: a line of [nova]
        """
        program = balancer.Balancer(self.testbed, login)
        program.configure()
        with program.file.open('a') as file:
            file.write(f'[nova]\n{nova}\n')
        return program.run(*arguments)

    def serve(self, port, *argv, **environment):
        """Runs a server in the testbed's network until the test ends."""
        log = self.enterContext(open(f'{self.directory}/{port}.log', 'w'))
        process = self.testbed.in_network(
            [self.testbed.layout.venv / 'bin/python', *argv], stdout=log,
            stderr=log, env={'PATH': '/usr/sbin:/usr/bin:/sbin:/bin',
                             'PYTHONWARNINGS': 'ignore', **environment})
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        there = network.Network(self.testbed.layout.network)
        network.wait_for(f'port {port} answers', lambda: there.answers(
            layout.CONTROL, port), 300)

    def serve_brief_tokens(self):
        """The URL of a Keystone whose tokens expire in seconds."""
        file = self.directory / 'keystone.conf'
        file.write_text(cinder.render(
            config.keystone(self.testbed.layout),
            {'token': {'expiration': EXPIRY_S}}))
        self.serve(BRIEF_PORT, f'{layout.INSIDE.parent}/nova/serve.py',
                   'keystone.wsgi.api', layout.CONTROL, BRIEF_PORT,
                   OS_KEYSTONE_CONFIG_FILES=str(file))
        return f'http://{layout.CONTROL}:{BRIEF_PORT}/v3'
