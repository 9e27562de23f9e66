# SPDX-License-Identifier: Apache-2.0
"""What predict says of workloads that hardly do anything."""

import functools
import json

import ddt

from serifos.files import documents
from serifos.model import fit_runs
from serifos.model import held_out
from serifos.model import kinds
from serifos.model.model import Model
from tests.unit.cmd import command
from tests.unit.cmd import test_model_commands as commands

_THINKS_US = (0, 500, 5000, 50000, 500000, 1000000000)
_RISING = ('outstanding', 'tenant', 'queueing')  # with the depth
_POSITIVE = sorted({*kinds.names()} - {'mars'})  # at a depth of 1
_RANGE = {'write_pct': (0, 100), 'block_kib': (4, 256), 'iodepth': (1, 32),
          'random_pct': (0, 100), 'count': (1, 10)}


@functools.cache
def _of_kind(kind):
    data = fit_runs.runs(commands._dataset().valid())
    return Model('m', kind, held_out.parameters(kind, data, {}), _RANGE,
                 {'interval': [-0.1, 0.2]})


@ddt.ddt
class ThinkTest(commands.ModelCase):

    def seen(self, *workloads):
        """What predict says of workloads that run together."""
        options = [part for one in workloads for part in ('-w', one)]
        code, out, _ = command.model(
            'predict', self.model, *options, '-f', 'json')
        self.assertEqual(0, code)
        return json.loads(out)

    def latencies(self, kind, *workloads):
        """The latency of each alone, after a look at all that is said."""
        documents.write_model(self.model, _of_kind(kind))
        found = []
        for one in workloads:
            said = self.seen(one)
            low, high = said['interval_us']
            self.assertTrue(0 < low <= said['latency_us'] <= high)
            self.assertAlmostEqual(
                said['latency_us'], said['tenants'][0]['latency_us'])
            found.append(said['latency_us'])
        return found

    @ddt.data(*_POSITIVE)
    def test_who_hardly_asks_sees_what_a_lone_request_takes(self, kind):
        alone, *found = self.latencies(
            kind, '30:8:1', '30:8:0.01',
            *(f'30:8:4:100:{z}' for z in _THINKS_US[2:]))
        for latency in found:
            self.assertAlmostEqual(alone, latency, delta=1e-3 * alone)
        for said in map(self.seen, ('30:8:0.01', '30:8:4:100:5000',
                                    '30:8:4:100:500000')):
            self.assertEqual(['iodepth'], said['extrapolated'])

    @ddt.data(*_RISING)
    def test_who_thinks_longer_does_not_wait_longer(self, kind):
        found = self.latencies(
            kind, *(f'30:8:4:100:{z}' for z in _THINKS_US))
        for latency, longer in zip(found, found[1:]):
            self.assertGreaterEqual(latency, longer - 1e-3)

    @ddt.data(*_RISING)
    def test_beside_others_who_hardly_asks_waits_for_them(self, kind):
        documents.write_model(self.model, _of_kind(kind))
        busy = self.seen('30:8:16')['latency_us']
        for think in _THINKS_US[2:]:
            said = self.seen('30:8:16', f'30:8:4:100:{think}')
            self.assertEqual(['iodepth'], said['extrapolated'])
            for one in said['tenants']:
                self.assertAlmostEqual(1, one['latency_us'] / busy, delta=0.1)

    @ddt.data(*kinds.names())
    def test_who_hardly_asks_adds_nothing_to_a_busy_pool(self, kind):
        documents.write_model(self.model, _of_kind(kind))
        busy = self.seen('30:8:16')
        for rare in '100:256:0.001', '100:256:4:100:1000000000':
            said = self.seen('30:8:16', rare)
            for figure in 'latency_us', 'interval_us':
                self.assertEqual(busy[figure], said[figure])
            self.assertEqual(busy['tenants'][0], said['tenants'][0])

    def test_one_without_a_requester_is_none(self):
        documents.write_model(self.model, _of_kind('outstanding'))
        for one in ('30:8:0', '30:8:0:100:500'):
            said = self.seen(one)
            self.assertEqual((0, []), (said['latency_us'],
                                       said['extrapolated']))
