# SPDX-License-Identifier: Apache-2.0
"""The steps of the story with servers, by models that take no time."""

from tests.functional.testbed import case
from tests.testbed.nova import in_use
from tests.testbed import story


class InUseStoryTest(case.NovaTest):

    def setUp(self):
        super().setUp()
        told = []
        self.story = in_use.InUseStory(self.testbed, told.append)
        self.story.balancer.forget()
        self.story.balancer.configure(min_gain=story.MIN_GAIN)
        self.story.balancer.assume_models()
        self.addCleanup(self.story.end)
        self.detail('story', told)

    def test_the_story(self):
        self.story.tenants()
        self.story.observe()
        before = self.story.felt()
        self.assertEqual(
            {name: self.testbed.host(host).name
             for name, (host, _, _) in in_use.TENANTS.items()},
            {name: one.host for name, one in before.tenants.items()})

        moves = self.story.balance()
        self.assertEqual('node3@ssd#ssd', moves[0]['from'])
        after = self.story.felt()
        for name, volume in self.story.volumes.items():
            self.assertEqual(self.testbed.host_of(volume).name,
                             after.tenants[name].host)
        self.assertLess(after.device_us('node3'), before.device_us('node3'))
        self.assertEqual(dict.fromkeys(in_use.TENANTS, True),
                         self.story.intact())
        table = self.story.compared(before, after, moves)
        moved, = (name for name, volume in self.story.volumes.items()
                  if volume == moves[0]['volume'])
        self.assertTrue(any(line.startswith(f'{moved}, moved from node3 to ')
                            for line in table), table)
