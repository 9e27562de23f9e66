# SPDX-License-Identifier: Apache-2.0
"""Do the tables of the story with servers say what the tenants felt?"""

import testtools

from tests.testbed.nova import felt
from tests.testbed.nova import tenants
from tests.testbed import story

MOVE = {
    'volume': 'v', 'from': 'node3@ssd#ssd', 'to': 'node1@ssd#ssd',
    'source_before_us': 8000, 'source_during_us': 9700,
    'source_after_us': 3000, 'target_before_us': 500,
    'target_during_us': 2000, 'target_after_us': 1000}


def second(at, seconds=1.0):
    return tenants.Second('disk', at, seconds, reads=60, writes=40,
                          checked=60, errors=0, wrong=0, mean_us=1000,
                          p99_us=3000, max_us=4000)


def summary(mean_us):
    return tenants.TenantSummary(iops=100, write_pct=40, mean_us=mean_us,
                                 p99_us=2 * mean_us, max_us=3 * mean_us)


def seen(**those):
    """Tenants by name: (host, mean in the server, mean at the device)."""
    return felt.Felt({
        name: felt.Tenant('vm', host, summary(mean_us), 90, device_us)
        for name, (host, mean_us, device_us) in those.items()})


BEFORE = seen(logs=('node3', 12000, 9000), oltp=('node3', 8000, 7000),
              wiki=('node1', 2000, 500), docs=('node2', 2000, 500))
AFTER = seen(logs=('node1', 4000, 1000), oltp=('node3', 4000, 3000),
             wiki=('node1', 3000, 700), docs=('node2', 2000, 500))


class FeltTest(testtools.TestCase):

    def test_a_second_counts_where_all_of_it_lies_in_the_span(self):
        those = [second(at) for at in (10.0, 10.9, 11.0, 15.0, 15.1, 21.0)]
        self.assertEqual(
            [11.0, 15.0, 21.0],
            [one.at for one in felt.within(those, [(10, 15), (20, 30)])])

    def test_the_worst_host_is_that_of_the_slowest_tenants(self):
        self.assertEqual((10000, 4000), (BEFORE.worst, AFTER.worst))
        self.assertEqual(8000, BEFORE.device_us('node3'))
        self.assertEqual(0, BEFORE.seen_us('node9'))

    def test_a_table_has_a_tenant_a_line(self):
        *_, logs, _, _, docs = felt.table(BEFORE.tenants)
        self.assertEqual(['logs', 'vm', 'node3', '100', '12.0', '24',
                          '90', '9.0'], logs.split())
        self.assertEqual('docs', docs.split()[0])

    def test_each_tenant_is_told_what_it_has_to_do_with_the_copy(self):
        lines = felt.costs(
            BEFORE, dict.fromkeys(BEFORE.tenants, summary(50000)), AFTER,
            [MOVE])
        self.assertEqual(
            ['logs, moved from node3 to node1', 'oltp, stays on node3, the '
             'source', 'wiki, stays on node1, the target',
             'docs, stays on node2'],
            [line.partition('before')[0].strip() for line in lines[1::3]])
        self.assertEqual(['during', '100', '50.0', '100'], lines[2].split())
        self.assertEqual(['after', '100', '4.0', '8'], lines[3].split())

    def test_a_move_says_what_is_predicted_of_both_devices(self):
        self.assertEqual(
            ['predicted for the device of node3: 8.0 ms, 9.7 while it is '
             'copied, then 3.0',
             'predicted for the device of node1: 0.5 ms, 2.0 while it is '
             'copied, then 1.0'], story.predicted(MOVE))

    def test_hosts_are_compared_in_servers_and_at_their_devices(self):
        lines = felt.hosts(BEFORE, AFTER)
        self.assertEqual(
            ['node3,', 'servers,', 'ms', '10.0', '4.0', '-60', '%'],
            lines[3].split())
        self.assertEqual(
            ['node3,', 'device,', 'ms', '8.0', '3.0', '-62', '%'],
            lines[6].split())
