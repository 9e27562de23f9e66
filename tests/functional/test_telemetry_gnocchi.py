# SPDX-License-Identifier: Apache-2.0
"""Telemetry from a real Gnocchi."""

import datetime
import time
import uuid

import numpy

from serifos import errors
from serifos.facts import activity
from serifos.telemetry import gnocchi
from serifos.telemetry import gnocchi_disks
from serifos.telemetry import http
from tests.functional import machine
from tests.functional import servers
from tests.unit.telemetry import readings

CONFIG = """
[DEFAULT]
coordination_url = file://{directory}/coordination
[api]
auth_mode = basic
paste_config = /etc/gnocchi/api-paste.ini
[indexer]
url = {connection}
[storage]
driver = file
file_basepath = {directory}/measures
[metricd]
workers = 1
metric_processing_delay = 1
[oslo_policy]
policy_file = /etc/gnocchi/policy.json
"""

API = """
from gnocchi.rest import app
from gnocchi import service
import sys
from wsgiref import simple_server
conf = service.prepare_service(['--config-file', sys.argv[1]])
simple_server.make_server(
    '127.0.0.1', int(sys.argv[2]), app.load_app(conf)).serve_forever()
"""
"""Debian's uWSGI has no ``--http``, by which gnocchi-api would start it."""

PYTHON = '/usr/bin/python3'
"""Debian's, whose packages Gnocchi is among."""

INSTANCE = '11111111-2222-4333-8444-555555555555'
POOL = 'node1@ssd#ssd'
EVERY_S = 300


class GnocchiTest(machine.MachineTest):

    programs = ('gnocchi-upgrade', 'gnocchi-metricd')

    def setUp(self):
        super().setUp()
        database = servers.MariaDB(self)
        database.sql('alter database serifos character set utf8mb3')
        for name in ('measures/tmp', 'coordination'):
            (self.directory / name).mkdir(parents=True)
        self.config = self.directory / 'gnocchi.conf'
        self.config.write_text(CONFIG.format(
            directory=self.directory, connection=database.connection))
        self.run_tool('timeout', '300', 'gnocchi-upgrade', '--config-file',
                      self.config)
        self.daemon('gnocchi-metricd', '--config-file', self.config)
        port = machine.free_port()
        self.daemon(PYTHON, '-c', API, self.config, port)
        self.url = f'http://127.0.0.1:{port}'
        self.session = http.session(username='admin', password='')
        machine.wait_until(self.answers)
        self.post('archive_policy', name='five', definition=[
            {'granularity': f'{EVERY_S}s', 'timespan': '1d'}],
            aggregation_methods=['mean'])
        self.post('archive_policy', name='hours', definition=[
            {'granularity': '3600s', 'timespan': '1d'}],
            aggregation_methods=['mean'])
        self.post('resource_type', name='instance_disk', attributes={
            'name': {'type': 'string'}, 'instance_id': {'type': 'uuid'}})

    def answers(self):
        try:
            return http.ask(self.session, f'{self.url}/v1/status')
        except errors.CloudError:
            return False

    def processed(self):
        """Whether metricd has taken in all that was posted."""
        said = http.json(http.ask(self.session, f'{self.url}/v1/status'))
        return not said['storage']['summary']['measures']

    def post(self, path, by=None, **doc):
        answer = (by or self.session).post(f'{self.url}/v1/{path}', json=doc)
        return answer.json() if answer.text else None

    def disk(self, device, series, policy='five', by=None):
        """A disk's resource with these series: metric → (at → value)."""
        found = self.post(
            'resource/instance_disk', by, id=f'{INSTANCE}-{device}',
            name=device,
            instance_id=INSTANCE, user_id=str(uuid.uuid4()),
            project_id=str(uuid.uuid4()), metrics={
                name: {'archive_policy_name': policy} for name in series})
        for name, values in series.items():
            self.session.post(
                f'{self.url}/v1/metric/{found["metrics"][name]}/measures',
                json=[{'timestamp': datetime.datetime.fromtimestamp(
                    at, datetime.UTC).isoformat(), 'value': value}
                    for at, value in values.items()])

    def series(self, times, counters, timed=True):
        """What Ceilometer measures, from the counters at these times."""
        columns = zip(*(counters(at) for at in times))
        names = gnocchi_disks.COUNTED + (gnocchi_disks.TIMED if timed else ())
        return {name: dict(zip(times, (
            value * (1e9 if name in gnocchi_disks.TIMED else 1)
            for value in column))) for name, column in zip(names, columns)}

    def test_what_was_measured_is_read(self):
        now = time.time()
        last = now // EVERY_S * EVERY_S
        times = [last + 7 - EVERY_S * n for n in reversed(range(6))]
        began = times[0] - 9

        def busy(at):
            return readings.steady(at - began, write_pct=40, block_kib=64,
                                   iops=50, latency_us=8000)
        self.disk('vdb', self.series(times, busy))
        self.disk('vdc', self.series(times, busy, timed=False))
        self.disk('vdd',
                  self.series(times, lambda at: readings.steady(99), False))
        self.disk('vde', self.series(times, lambda at: readings.steady(
            at - (began if at < times[4] else times[4] - 1), iops=10)))
        self.disk('vdf', self.series(times[:2], busy))
        self.disk('vdg', self.series(times[:4], busy))
        self.disk('vdg', self.series(times[3:], busy), by=http.session(
            username='ceilometer', password=''))
        volumes = {name: (INSTANCE, f'/dev/vd{letter}', 0.0)
                   for name, letter in (
                       ('busy', 'b'), ('untimed', 'c'), ('idle', 'd'),
                       ('anew', 'e'), ('stale', 'f'), ('accounts', 'g'),
                       ('nowhere', 'z'))}
        source = gnocchi.Gnocchi(
            self.session, self.url, lambda: volumes, granularity_s=EVERY_S)
        places = [activity.MeasuredVolume(name, name, POOL)
                  for name in (*volumes, 'detached')]
        machine.wait_until(self.processed)
        seen = source.observe(places, 900)
        self.assertEqual(last, seen.at)
        busy = seen.volumes['busy']
        self.assertEqual((900, 3), (busy.seconds, busy.intervals))
        self.assertAlmostEqual(50, busy.mean.iops)
        self.assertAlmostEqual(40, busy.mean.write_pct)
        self.assertAlmostEqual(64, busy.mean.block_kib)
        self.assertAlmostEqual(8000, busy.mean.latency_us, 3)
        self.assertAlmostEqual(0.4, busy.mean.iodepth)
        self.assertEqual((0, 900), (seen.volumes['idle'].mean.iops,
                                    seen.volumes['idle'].quiet_s))
        self.assertEqual(600, seen.volumes['anew'].seconds)
        self.assertAlmostEqual(10, seen.volumes['anew'].mean.iops)
        self.assertEqual(900, seen.volumes['accounts'].seconds)
        self.assertAlmostEqual(50, seen.volumes['accounts'].mean.iops)
        self.assertAlmostEqual(110, seen.pools[POOL].mean.iops)
        self.assertIn('disk.device.read.latency', seen.missing['untimed'])
        self.assertIn('the newest reading of stale is', seen.missing['stale'])
        self.assertIn(f'no resource {INSTANCE}-vdz', seen.missing['nowhere'])
        self.assertIn('not attached to one instance', seen.missing['detached'])
        self.assertIn('4 of 8 volumes', seen.problems[POOL])
        self.check_past(source, places, times)
        self.refused_without_a_login(places)

    def check_past(self, source, places, times):
        """Five whole slots between six measures, but where it began anew."""
        found = source.read(places, times[0], times[-1], EVERY_S)
        self.assertEqual(
            [1500, 1500, 1500, 1200, 300, 1500, 0, 0],
            found.seconds.sum(axis=0).tolist())
        self.assertAlmostEqual(50, found.iops[0, 0], 3)
        self.assertAlmostEqual(8000, found.latency_us[0, 0], 1)
        self.assertAlmostEqual(50, found.iops[0, 1], 3)
        self.assertTrue(numpy.isnan(found.latency_us[0, 1]))
        self.assertEqual((0, 0), (found.iops[0, 2], found.outstanding[0, 2]))

    def test_many_volumes_in_few_questions(self):
        """A day of 60 volumes, one of which is kept by the hour alone."""
        last = time.time() // EVERY_S * EVERY_S
        times = [last + 7 - EVERY_S * n for n in reversed(range(289))]
        letters = [f'a{nth}' for nth in range(60)]
        for nth, letter in enumerate(letters):
            self.disk(f'vd{letter}', self.series(
                times, lambda at, iops=10 + nth: readings.steady(
                    at - times[0] + 9, iops=iops, latency_us=2000)),
                'hours' if nth == 7 else 'five')
        machine.wait_until(self.processed)
        asked = []

        class Counted:
            auth = self.session.auth

            @staticmethod
            def request(url, *others, **more):
                asked.append(url)
                return self.session.request(url, *others, **more)
        source = gnocchi.Gnocchi(
            Counted, self.url, lambda: {
                letter: (INSTANCE, f'/dev/vd{letter}', 0.0)
                for letter in letters}, granularity_s=EVERY_S)
        places = [activity.MeasuredVolume(letter, letter, POOL)
                  for letter in letters]
        found = source.read(places, times[0], times[-1], 3600)
        iops = found.iops[2]
        self.assertTrue(numpy.isnan(iops[7]))
        iops[7] = 17
        numpy.testing.assert_allclose(
            iops, 10.0 + numpy.arange(60), rtol=1e-3)
        self.assertLess(len(asked), 18)
        seen = source.observe(places, 900)
        self.assertEqual({'a7'}, {*seen.missing})
        self.assertIn('no measures of its disk of each 300 s',
                      seen.missing['a7'])

    def refused_without_a_login(self, places):
        error = self.assertRaises(
            errors.CloudError, gnocchi.Gnocchi(
                http.session(), self.url,
                lambda: {'busy': (INSTANCE, 'vdb', 0.0)},
                granularity_s=EVERY_S).observe, places, 900)
        self.assertIn('refuses the login', str(error))
