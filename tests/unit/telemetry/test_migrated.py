# SPDX-License-Identifier: Apache-2.0
"""Whose activity it is before, in and after a migration of a volume in use.

Nova copies it to a hidden volume's LV, which keeps its name: the volume then
has a name_id. For about a second it has no attachment, and the old copy has
it, which is being deleted.
"""

import datetime
import json

import ddt

from serifos.balancer import join
from serifos.facts.inventory import Inventory
from serifos.facts.inventory import Record
from serifos.telemetry.counters import Counters
from serifos.telemetry.counters import Reading
from serifos.telemetry import gnocchi
from serifos.telemetry import gnocchi_disks
from serifos.telemetry import http
from serifos.telemetry import prometheus
from serifos.telemetry import ring
from serifos.telemetry import scrape
from serifos.telemetry import window
from tests.unit import case
from tests.unit.telemetry import readings
from tests.unit.telemetry import test_prometheus

NOW = test_prometheus.NOW
SOURCE, TARGET = 'node1@ssd#ssd', 'node2@ssd#ssd'
IOPS = {'v': 1000, 't': 500}
"""Of each logical volume; v is on node1, t on node2."""


def volume(pool=SOURCE, **others):
    return Record('v', 1.0, 'in-use', pool=pool, **others)


STAGES = {
    'before': ((volume(attachments=('s',)),), 'v'),
    'copied': ((volume(attachments=('s',), migration_status='migrating'),
                Record('t', 1.0, 'attaching', pool=TARGET,
                       migration_status='target:v')), 'v'),
    'transient': ((volume(TARGET, name_id='t'),
                   Record('t', 1.0, 'deleting', pool=SOURCE, name_id='v',
                          migration_status='deleting',
                          attachments=('s',))), 't'),
    'after': ((volume(TARGET, name_id='t', migration_status='success',
                      attachments=('s',)),), 't')}
"""Stage → Cinder's records, and the LV that is the volume's."""


def inventory(stage):
    return Inventory((), (), STAGES[stage][0])


@ddt.ddt
class MigratedTest(case.DirectoryCase):

    def assert_attributed(self, source, stage):
        lv = STAGES[stage][1]
        seen = source.observe(join.places(inventory(stage)), 60)
        self.assertAlmostEqual(IOPS[lv], seen.volumes['v'].mean.iops)

    @ddt.data(*STAGES)
    def test_by_exporters(self, stage):
        kept = ring.Ring(self.dir, 900)
        for at in NOW - 15, NOW:
            kept.append({host: Reading(at, {lv: readings.steady(
                at, iops=IOPS[lv])}) for host, lv in (
                    ('node1', 'v'), ('node2', 't'))})
        self.assert_attributed(scrape.Scrape(
            http.session(), {'node1': 'http://x', 'node2': 'http://y'}, kept,
            interval_s=15.0, clock=lambda: NOW), stage)

    @ddt.data(*STAGES)
    def test_by_prometheus(self, stage):
        def answer(method, path, headers, body):
            found = [] if b'boot' in body else [
                each for host, lv in (('node1', 'v'), ('node2', 't'))
                for each in exported(host, lv)]
            return 200, json.dumps({'data': {'result': found}})

        def exported(host, lv):
            each = [readings.steady(at, iops=IOPS[lv])
                    for at in test_prometheus.TIMES]
            for series in test_prometheus.exported(instance=host):
                name = series['metric']['__name__']
                if name in prometheus.exporter.COUNTERS:
                    nth = prometheus.exporter.COUNTERS.index(name)
                    yield test_prometheus.series(
                        series['metric'], [values[nth] for values in each])
                else:
                    yield {**series, 'metric': {
                        **series['metric'], 'lv_name': f'volume-{lv}'}}
        url = self.enterContext(readings.serving(answer))
        self.assert_attributed(prometheus.Prometheus(
            http.session(), url, label='instance', interval_s=15.0,
            clock=lambda: NOW), stage)

    @ddt.data(*STAGES)
    def test_by_gnocchi(self, stage):
        """By the server's disk; in the transient second it is unknown."""
        names = gnocchi_disks.COUNTED + gnocchi_disks.TIMED

        def answer(method, path, headers, body):
            if 'search' in path:
                return 200, json.dumps([
                    {'original_resource_id': name,
                     'metrics': dict(zip(names, names))}
                    for name in json.loads(body)['in'][
                        'original_resource_id']])
            return 200, json.dumps({'measures': {name: {'mean': [[
                datetime.datetime.fromtimestamp(at, datetime.UTC).isoformat(),
                300.0, readings.steady(at)[names.index(name)]
                * (1e9 if name in gnocchi_disks.TIMED else 1)]
                for at in (NOW - 600, NOW - 300, NOW)]}
                for name, _ in json.loads(body)['operations'][1:]}})
        records = inventory(stage).records
        source = gnocchi.Gnocchi(
            http.session(), self.enterContext(readings.serving(answer)),
            lambda: {record.id: ('s', '/dev/vdb', 0.0) for record in records
                     if record.attachments}, granularity_s=300.0,
            clock=lambda: NOW)
        moved = {'v': NOW - 100} if stage == 'after' else {}
        seen = source.observe(join.places(inventory(stage), moved), 600)
        if stage == 'transient':
            self.assertIn('not attached to one', seen.missing['v'])
        else:
            self.assertAlmostEqual(1000, seen.volumes['v'].mean.iops)

    def test_what_nova_wrote_to_the_copy_is_not_the_volumes(self):
        """Until it was moved, 200 s ago, each second 100 requests more."""
        base = readings.steady(NOW - 200, iops=600)
        past = [Reading(at, {'t': readings.steady(at, iops=600)}
                        if at <= NOW - 200 else {'t': Counters(*(
                            a + b for a, b in zip(base, readings.steady(
                                at - NOW + 200, iops=500))))})
                for at in range(int(NOW) - 600, int(NOW) + 1, 20)]
        for moved, iops in ({}, 567), ({'v': NOW - 200}, 500):
            seen = window.observed(
                join.places(inventory('after'), moved),
                {'node2': past}, now=NOW, window_s=600, interval_s=20)
            self.assertAlmostEqual(iops, seen.volumes['v'].mean.iops, 0)
