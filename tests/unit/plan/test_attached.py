# SPDX-License-Identifier: Apache-2.0
"""Reasons why Nova would not copy a volume in use."""

import ddt
import testtools

from serifos.facts import servers
from serifos.plan import eligibility


def why_not(server, **others):
    services = {'c1': servers.ComputeService('c1'),
                'c2': servers.ComputeService('c2', up=False)}
    return eligibility.not_copied(
        ['s'], servers.Servers({server.id: server}, services, **others))


@ddt.ddt
class AttachedTest(testtools.TestCase):

    @ddt.data('active', 'paused', 'resized')
    def test_volumes_of_these_are_copied(self, state):
        self.assertIsNone(why_not(servers.Server('s', 'web', 'ACTIVE', state,
                                                 host='c1')))

    @ddt.data(
        (servers.Server('s', 'web', 'SHUTOFF', 'stopped', host='c1'),
         'its server web (s) is SHUTOFF'),
        (servers.Server('s', 'web', 'ACTIVE', 'active', 'rebooting', 'c1'),
         'has a task under way: rebooting'),
        (servers.Server('s', 'web', 'ACTIVE', 'active', host='c1',
                        off='NOSTATE'),
         'web (s) is ACTIVE and does not run: its power state is NOSTATE'),
        (servers.Server('s', 'web', 'ACTIVE', 'active', host='c2'),
         'the nova-compute of its server web (s), on c2, is down'),
        (servers.Server('s', 'web', 'ACTIVE', 'active', host='c3'), 'is down'),
        (servers.Server('s', 'web', 'ACTIVE', 'active'),
         'does not know the host of its server web (s)'),
        (servers.Server('s', 's', 'UNKNOWN'),
         'does not know the state of its server s (s): its cell may be down'),
        (servers.Server('t', 'web', 'ACTIVE', 'active', host='c1'),
         'Nova does not list its server s; '))
    @ddt.unpack
    def test_of_these_they_are_not(self, server, words):
        self.assertIn(words, why_not(server))

    def test_nova_that_does_not_answer(self):
        self.assertEqual(
            'attached, and Nova could not be asked: no route',
            why_not(servers.Server('s', 'web', 'ACTIVE', 'active', host='c1'),
                    problem='no route'))
