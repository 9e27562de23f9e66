# SPDX-License-Identifier: Apache-2.0
"""The disks of hosts, over real HTTP."""

import json
import pathlib
from urllib import parse

import ddt
import fixtures
import testtools

from serifos.facts import activity
from serifos.telemetry import exporter
from serifos.telemetry import http
from serifos.telemetry import prometheus
from serifos.telemetry.ring import Ring
from serifos.telemetry import scrape
from tests.unit.telemetry import readings

INTEL = {'device': 'sda', 'model': 'INTEL_SSDSC2BX400G4', 'serial': 'S1',
         'path': 'pci-0000:00:1f.2-ata-1'}
ATTACHED = {'device': 'sdb', 'model': 'IBLOCK', 'serial': '6001',
            'path': 'ip-10.0.0.1:3260-iscsi-iqn.2026-01.org:x-lun-0'}
DISK = activity.Disk('INTEL_SSDSC2BX400G4', 'S1')


def text(*several):
    return ''.join('node_disk_info{%s} 1\n' % ','.join(
        f'{name}="{value}"' for name, value in labels.items())
        for labels in several)


@ddt.ddt
class DisksTest(testtools.TestCase):

    @ddt.data(
        ([INTEL], (DISK,)), ([INTEL, ATTACHED], (DISK,)),
        ([INTEL, {'device': 'dm-0', 'model': ''}], (DISK,)),
        ([INTEL, {'device': 'vda', 'model': ''}], ()),
        ([INTEL, {'device': 'vda'}], ()), ([ATTACHED], ()), ([], ()))
    @ddt.unpack
    def test_what_a_host_has(self, several, expected):
        self.assertEqual(
            expected, exporter.parse_disks(text(*several).encode()))

    def test_a_real_exporter(self):
        path = pathlib.Path(__file__).with_name('node_exporter.txt')
        self.assertEqual((), exporter.parse_disks(path.read_bytes()))


class SourcesTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.answers = {}
        self.url = self.enterContext(readings.serving(self.answer))

    def answer(self, method, path, headers, body):
        if path in self.answers:
            return self.answers[path]
        self.query = parse.parse_qs(body.decode())['query'][0]
        return 200, json.dumps({'status': 'success', 'data': {
            'resultType': 'matrix', 'result': [
                {'metric': {'__name__': 'node_disk_info', **labels},
                 'values': [[1, '1']]} for labels in (
                    {**INTEL, 'instance': 'node1:9100'},
                    {**INTEL, 'instance': 'node2:9100', 'serial': 'S2'})]}})

    def test_scraped(self):
        self.answers = {'/one': (200, text(INTEL)), '/two': (500, ''),
                        '/three': (200, 'node_disk_info{')}
        found = scrape.Scrape(
            http.session(), {'node1': f'{self.url}/one',
                             'node2': f'{self.url}/two',
                             'node3': f'{self.url}/three'},
            Ring(self.useFixture(fixtures.TempDir()).path, 900),
            interval_s=15.0).disks(
                {'node1', 'node2', 'node3', 'node4'})
        self.assertEqual({'node1': (DISK,)}, found)

    def test_by_prometheus(self):
        found = prometheus.Prometheus(
            http.session(), self.url, label='instance', interval_s=15.0,
            selector='job="node"').disks(
                {'node1', 'node3'})
        self.assertEqual({'node1': (DISK,)}, found)
        self.assertTrue(self.query.startswith(
            '{__name__=~"node_disk_info",job="node"}['), self.query)
