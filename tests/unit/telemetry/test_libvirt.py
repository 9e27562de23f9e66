# SPDX-License-Identifier: Apache-2.0
"""What a Prometheus answers of libvirt exporters.

The functional test asks a real one.
"""

import json
from urllib import parse

import ddt
import fixtures
import testtools

from serifos.telemetry import http
from serifos.telemetry import libvirt
from tests.unit.telemetry import readings


@ddt.ddt
class LibvirtTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.text, self.asked = None, []
        self.result = []
        self.url = self.enterContext(readings.serving(self.answer))

    def answer(self, method, path, headers, body):
        self.asked.append((path, parse.parse_qs(body.decode())['query'][0]))
        return 200, self.text or json.dumps({
            'status': 'success',
            'data': {'resultType': 'vector', 'result': self.result}})

    def latency_us(self):
        return libvirt.Libvirt(
            http.session(), f'{self.url}/').latency_us(599.5)

    def test_seconds_become_microseconds(self):
        self.result = [{'metric': {'serial': 'u'}, 'value': [1.5, '0.0035']}]
        self.assertEqual({'u': 3500.0}, self.latency_us())
        (path, query), = self.asked
        self.assertEqual('/api/v1/query', path)
        self.assertEqual(4, query.count('[600s]'))

    @ddt.data('NaN', '+Inf', '-1', '1e9')
    def test_a_disk_without_a_figure_is_left_out(self, figure):
        self.result = [{'metric': {'serial': 'u'}, 'value': [1.5, figure]}]
        self.assertEqual({}, self.latency_us())

    @ddt.data('{"data": {"result": [{"metric": {}, "value": [1, "1"]}]}}',
              '{"data": {"result": [{"metric": {"serial": "u"}}]}}',
              '{"data": {"result": [{"metric": {"serial": "u"}, '
              '"value": [1, "x"]}]}}', '{}')
    def test_what_is_no_answer(self, text):
        self.text = text
        log = self.useFixture(fixtures.FakeLogger())
        self.assertEqual({}, self.latency_us())
        self.assertIn('measured by QEMU are not known: ', log.output)
        self.assertIn('does not answer as a Prometheus', log.output)
