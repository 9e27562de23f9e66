# SPDX-License-Identifier: Apache-2.0
"""cinder-scheduler places new volumes better with serifos than without."""

from tests.functional.testbed import case
from tests.testbed import burst
from tests.testbed import cinder
from tests.testbed import network

COUNT = 4
"""Of three hosts alike the stock weigher gives two volumes to one."""

SLO_US = 12000
"""More than a volume sees beside a few others, less than what it would see
beside the tenant of the busy host."""


class PlacementTest(case.TestbedTest):

    def setUp(self):
        super().setUp()
        self.told = []
        self.burst = burst.Burst(self.testbed, COUNT, self.told.append)
        self.detail('burst', self.told)
        self.addCleanup(self.burst.end)
        self.burst.prepare()

    def since(self, before):
        return self.testbed.scheduler_log()[before:]

    def test_a_burst_lands_where_it_is_fast(self):
        # tools/testbed burst tries the weigher, too.
        found = {name: self.burst.place(name, 8)
                 for name in ('SerifosScheduler', 'CapacityWeigher')}
        hosts = [host.name for host in self.testbed.hosts]
        self.told += burst.table(found, hosts)

        stock = found.pop('CapacityWeigher')
        busy = self.testbed.host(burst.BUSY).name
        self.assertLess(0, stock.on(busy))
        for name, outcome in found.items():
            self.assertLess(outcome.mean_us, stock.mean_us, name)
            self.assertLess(outcome.worst_us, stock.worst_us, name)
            self.assertEqual(0, outcome.on(busy), name)
            for host in set(hosts) - {busy}:
                self.assertLess(0, outcome.on(host), name)
            self.assertEqual(
                {'write_pct 30 from the configured default, block_kib 16 '
                 'from volume type burst, iodepth 2 from the scheduler hint'},
                outcome.sources, name)
        # The way back: its lines are gone, and so is serifos.
        self.assertNotIn('erifos', stock.said)

    def test_a_slow_host_is_refused_but_not_to_a_volume_of_its_own(self):
        api = self.testbed.api
        slos = api.create_type('SLO', {
            'serifos:max_latency_us': str(SLO_US)})
        self.addCleanup(api.delete_type, slos)
        busy = self.testbed.host(burst.BUSY)
        old = self.testbed.create_volume(
            'old', volume_type='SLO', host=busy)
        volumes = [old]
        self.addCleanup(lambda: volumes and self.testbed.delete_volumes(
            volumes))
        self.testbed.restart_scheduler(cinder.FILTER)
        before = len(self.testbed.scheduler_log())

        # Where it would be too slow, a new one is refused.
        refused = api.create_volume(
            'refused', volume_type='SLO', host=busy)
        volumes.append(refused)
        network.wait_for('the volume is refused', lambda: api.volume(
            refused)['status'] == 'error', 300)
        self.assertIn(f'{SLO_US} µs is the SLO of its own type',
                      self.since(before))
        new = self.testbed.create_volume('new', volume_type='SLO')
        volumes.append(new)
        self.assertNotEqual(busy, self.testbed.host_of(new))

        # What has its place already is not in the way of its owner.
        snapshot = api.ask('POST', '/snapshots', {
            'snapshot': {'volume_id': old}})['snapshot']['id']
        network.wait_for('the snapshot is available', lambda: api.ask(
            'GET', f'/snapshots/{snapshot}')['snapshot']['status']
            == 'available', 300)
        api.ask('DELETE', f'/snapshots/{snapshot}')
        network.wait_for('the snapshot is deleted', lambda: not api.ask(
            'GET', '/snapshots')['snapshots'], 300)
        api.ask('POST', f'/volumes/{old}/action', {
            'os-extend': {'new_size': 2}})
        network.wait_for('the volume is extended', lambda: (
            api.volume(old)['status'], api.volume(old)['size'])
            == ('available', 2), 300)
        self.testbed.delete_volumes(volumes)
        volumes.clear()
