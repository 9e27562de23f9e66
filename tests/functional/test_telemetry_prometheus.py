# SPDX-License-Identifier: Apache-2.0
"""Telemetry from a real Prometheus server."""

import json
import time

from serifos import errors
from serifos.facts import activity
from serifos.telemetry import http
from serifos.telemetry import libvirt
from serifos.telemetry import prometheus
from tests.functional import machine
from tests.unit.telemetry import readings

EVERY_S = 0.5
POOL = 'node1@ssd#ssd'

# bcrypt of 'test', which Prometheus wants in its file of users.
USERS = """
basic_auth_users:
  serifos: $2b$12$hNf2lSsxfm0.i4a.1kVpSOVyBCfIB51VRjgBUyv6kdnyTlgWj81Ay
tls_server_config:
  cert_file: cert.pem
  key_file: key.pem
  client_auth_type: RequireAndVerifyClientCert
  client_ca_file: cert.pem
"""


def exported(meta, domain, serial, seconds):
    """What libvirt exporters say of a disk; no meta for Debian's 0.2.0."""
    disk = f'domain="{domain}",target_device="vdb"'
    if not meta:
        disk = f'{disk},source_file="/dev/sda",uuid="1"'
    figures = {'read_requests': 100, 'write_requests': 300,
               'read_bytes': 409600, 'write_bytes': 1228800}
    if meta:
        figures |= {'read_time_seconds': 0.2, 'write_time_seconds': 1.2}
    said = [f'libvirt_domain_block_stats_{name}_total{{{disk}}} '
            f'{each * (seconds + 100)}' for name, each in figures.items()]
    if meta:
        said.append(f'{meta}{{{disk},serial="{serial}",bus="virtio",'
                    'source_file="/dev/sda"} 1')
    return '\n'.join([*said, ''])


class PrometheusTest(machine.MachineTest):

    programs = ('prometheus',)
    began = None

    def seconds(self):
        """Seconds since the first call."""
        self.began = self.began or time.time()
        return time.time() - self.began

    def started(self, *jobs, options=()):
        """A Prometheus that scrapes these targets: (job, URL)."""
        config = [f'global: {{scrape_interval: {EVERY_S * 1000:.0f}ms, '
                  f'scrape_timeout: {EVERY_S * 1000:.0f}ms}}',
                  'scrape_configs:']
        for name, url in jobs:
            self.label(name, url)
            config.append(f'- job_name: {name}\n  file_sd_configs:\n'
                          f'  - files: [{name}.json]')
        (self.directory / 'prometheus.yml').write_text('\n'.join(config))
        port = machine.free_port()
        self.daemon('prometheus', '--config.file=prometheus.yml',
                    '--storage.tsdb.path=data',
                    f'--web.listen-address=127.0.0.1:{port}', *options)
        return f'127.0.0.1:{port}'

    def label(self, name, url, **labels):
        """Sets the labels of the target of a job, which Prometheus sees."""
        file = self.directory / 'new'
        file.write_text(json.dumps([{
            'targets': [url.removeprefix('http://')],
            'labels': {'host': 'node1.example.org', **labels}}]))
        file.rename(self.directory / f'{name}.json')

    def source(self, url, session=None, **others):
        return prometheus.Prometheus(
            session or http.session(), url, label='host',
            interval_s=EVERY_S, **others)

    def observed(self, source, intervals, *volumes):
        places = [activity.MeasuredVolume(v, v, POOL) for v in volumes]
        found = []

        def enough():
            try:
                found[:] = [source.observe(places, 60)]
            except errors.CloudError:
                return False
            return volumes[0] in found[0].volumes and (
                found[0].volumes[volumes[0]].intervals >= intervals)
        machine.wait_until(enough)
        return found[0]

    def test_rates_over_a_reset(self):
        """A volume that begins anew after 4 s, and one that idles."""
        def answer(*asked):
            at = self.seconds()
            return 200, readings.text({
                'a': readings.steady(at + 1000 if at < 4 else at - 4,
                                     write_pct=30, block_kib=16, iops=500,
                                     latency_us=4000),
                'b': readings.steady(77),
                **({'c': readings.steady(at)} if at < 2
                   else {})}, 12345.0, time.time())
        url = self.enterContext(readings.serving(answer))
        source = self.source(f'http://{self.started(("node", url))}/')
        seen = self.observed(source, 20, 'a', 'b', 'c', 'd')
        a, b = seen.volumes['a'], seen.volumes['b']
        # Prometheus stamps a scrape with the time it should begin at, the
        # counters are of the time they were answered at: on a machine that
        # is overloaded the two differ, and more so within one interval.
        self.assertAlmostEqual(500, a.mean.iops, delta=50)
        self.assertAlmostEqual(30, a.mean.write_pct)
        self.assertAlmostEqual(16, a.mean.block_kib)
        self.assertAlmostEqual(4000, a.mean.latency_us)
        self.assertLess(a.seconds, b.seconds)
        self.assertEqual(0, b.mean.iops)
        self.assertAlmostEqual(b.seconds, b.quiet_s)
        self.assertIn('no LV volume-c on node1', seen.missing['c'])
        self.assertEqual({'c', 'd'}, set(seen.missing))
        self.assertAlmostEqual(12345.0, seen.started[POOL], delta=10)
        self.assertAlmostEqual(500, seen.pools[POOL].mean.iops, delta=50)
        self.assertIn('2 of 4 volumes are not seen', seen.problems[POOL])
        for others in 0, 101:
            self.check_past(source, others)

    def check_past(self, source, others):
        """The last seconds of a and b; many volumes are asked for at once."""
        places = [activity.MeasuredVolume(v, v, POOL) for v in (
            'a', 'b', *(f'x{n}' for n in range(others)))]
        now = time.time()
        found = source.history.read(places, now - 5, now, 2)
        self.assertEqual((3, 4), (min(found.count, 3), max(found.count, 4)))
        for volume, iops in enumerate((500, 0)):
            seen = found.seconds[:, volume]
            self.assertGreater(seen.sum(), 4)
            self.assertLessEqual(seen.max(), 2.01)
            self.assertAlmostEqual(
                iops * seen.sum(), found.sums[1:3, :, volume].sum(),
                delta=max(100, iops))
        self.assertAlmostEqual(30, found.write_pct[1, 0], delta=1e-3)
        self.assertAlmostEqual(16, found.block_kib[1, 0], delta=1e-3)
        self.assertAlmostEqual(4000, found.latency_us[1, 0], delta=1)
        self.assertEqual(0, found.seconds[:, 2:].sum())

    def test_a_silent_exporter_and_two_jobs(self):
        silent = []

        def answer(*asked):
            return (500, '') if silent else (
                200, readings.text({'a': readings.steady(self.seconds())}))
        url = self.enterContext(readings.serving(answer))
        server = f'http://{self.started(("node", url), ("other", url))}'
        one = self.source(server, selector='job="node",')
        self.observed(one, 2, 'a')
        both = self.source(server).observe(
            [activity.MeasuredVolume('a', 'a', POOL)], 60)
        self.assertIn('2 node_exporters of it', both.missing['a'])
        self.assertIn('job="other"', both.missing['a'])
        self.assertIn('prometheus_selector', both.missing['a'])
        silent.append(True)
        time.sleep(5 * EVERY_S)
        self.assertRegex(
            one.observe([activity.MeasuredVolume('a', 'a', POOL)],
                        60).problems[POOL],
            r'the newest reading of node1 is ([2-9]|\d\d) s old')

    def test_a_pod_that_was_replaced(self):
        """Another target of the same host goes on where the first ended."""
        url = self.enterContext(readings.serving(lambda *asked: (
            200,
            readings.text({'a': readings.steady(self.seconds() + 1000)}))))
        server = f'http://{self.started(("node", url))}'
        self.observed(self.source(server), 4, 'a')
        self.label('node', url, pod='new')
        later = self.observed(
            self.source(server, selector='pod="new"'), 6, 'a')
        found = self.observed(self.source(server), 11, 'a')
        self.assertGreater(found.volumes['a'].seconds,
                           later.volumes['a'].seconds + 4 * EVERY_S)
        self.assertAlmostEqual(1000, found.volumes['a'].mean.iops, delta=100)
        now = time.time()
        past = self.source(server).history.read(
            [activity.MeasuredVolume('a', 'a', POOL)], now - 4, now, 1)
        self.assertGreater(past.seconds.sum(), 2)

    def test_latency_as_qemu_sees_it(self):
        """Of two exporters; Debian's has neither times nor serials."""
        def of(meta, *serials):
            return lambda *asked: (200, ''.join(
                exported(meta, f'instance-{nth}', serial, self.seconds())
                for nth, serial in enumerate(serials)))
        jobs = [(f'job{nth}', self.enterContext(readings.serving(of(*said))))
                for nth, said in enumerate((
                    ('libvirt_domain_block_meta', 'u', 'v'),
                    ('libvirt_domain_block_stats_info', 'w'),
                    ('', 'x')))]
        source = libvirt.Libvirt(
            http.session(), f'http://{self.started(*jobs)}')
        found = {}

        def known():
            found.update(source.latency_us(10))
            return len(found) == 3
        machine.wait_until(known)
        self.assertEqual({'u', 'v', 'w'}, set(found))
        for value in found.values():
            # One read in 2 ms to three writes in 4 ms.
            self.assertAlmostEqual(3500, value, delta=1)

    def test_certificates_and_a_password(self):
        self.need_programs('openssl')
        self.run_tool(
            'openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes',
            '-days', '2', '-subj', '/CN=localhost', '-addext',
            'subjectAltName=DNS:localhost', '-keyout',
            self.directory / 'key.pem', '-out', self.directory / 'cert.pem')
        (self.directory / 'web.yml').write_text(USERS)
        url = self.enterContext(readings.serving(lambda *asked: (
            200, readings.text({'a': readings.steady(self.seconds())}))))
        server = self.started(
            ('node', url), options=('--web.config.file=web.yml',))
        server = 'https://' + server.replace('127.0.0.1', 'localhost')
        paths = {name: str(self.directory / file) for name, file in (
            ('cafile', 'cert.pem'), ('certfile', 'cert.pem'),
            ('keyfile', 'key.pem'))}
        seen = self.observed(self.source(server, http.session(
            username='serifos', password='test', **paths)), 8, 'a')
        self.assertAlmostEqual(1000, seen.volumes['a'].mean.iops, delta=200)
        for session, why in (
                (http.session(username='serifos', password='no', **paths),
                 'refuses the login'),
                (http.session(**paths), 'refuses the login'),
                (http.session(cafile=paths['cafile']), 'does not answer'),
                (http.session(), 'certificate verify failed')):
            error = self.assertRaises(
                errors.CloudError, self.source(server, session).observe,
                [activity.MeasuredVolume('a', 'a', POOL)], 60)
            self.assertIn(why, str(error))

    def test_what_is_wrong_with_a_query_is_said(self):
        server = f'http://{self.started()}'
        places = [activity.MeasuredVolume('a', 'a', POOL)]
        self.observed_nothing(server)
        error = self.assertRaises(
            errors.CloudError, self.source(server, selector='job=').observe,
            places, 60)
        self.assertIn('answers HTTP 400 Bad Request', str(error))
        self.assertIn('parse error', str(error))
        self.assertIn('no node_exporter whose label host names it',
                      self.source(server).observe(places, 60).missing['a'])

    def observed_nothing(self, server):
        def answers():
            try:
                return self.source(server).observe([], 60) is not None
            except errors.CloudError:
                return False
        machine.wait_until(answers)
