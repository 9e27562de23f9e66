# SPDX-License-Identifier: Apache-2.0

import ddt
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies
import testtools

from serifos.facts.dataset import Sample
from serifos.facts.workload import Workload
from serifos.model import fit_runs
from serifos.model.model import Model
from serifos.model import rates
from tests.unit import samples

_BEST = rates.Rates(iops=10000, kib_per_s=400000)
_FLAT = Model('m', 'outstanding', {'intercept_us': 100.0}, {}, {},
              best=_BEST)
_APART = Model('t', 'tenant', samples.APART, {}, {}, best=_BEST)
_pools = strategies.lists(samples.workloads(), min_size=1, max_size=12)


@ddt.ddt
class RatesTest(testtools.TestCase):

    @ddt.data(_FLAT, _APART)
    def test_no_prediction_is_faster_than_the_device(self, model):
        @given(_pools)
        @settings(deadline=None)
        def within(run):
            load = model.load(run)
            per_second = 1e6 / model.predict(load)
            self.assertLessEqual(load.sum_iodepth * per_second, 13000.001)
            self.assertLessEqual(sum(
                w.iodepth * w.block_kib for w in run) * per_second, 520000.1)
        within()

    @ddt.data(_FLAT, _APART)
    def test_another_tenant_never_lowers_mine(self, model):
        @given(_pools, samples.workloads(), samples.workloads())
        @settings(deadline=None)
        def rises(others, mine, more):
            before, after = (model.load(run) for run in (
                [*others, mine], [*others, mine, more]))
            self.assertLessEqual(
                model.tenant(before, mine).latency_us * (1 - 1e-9),
                model.tenant(after, mine).latency_us)
        rises()

    def test_reads_and_writes_are_slowed_alike(self):
        mine = Workload(50, 4, 32)
        run = [mine] * 40
        seen = _APART.tenant(_APART.load(run), mine)
        self.assertAlmostEqual(40 * 32 / 0.013, seen.latency_us, 6)
        self.assertAlmostEqual(seen.latency_us, (
            seen.read_latency_us + seen.write_latency_us) / 2, 6)

    def test_a_tenant_with_few_requests_waits_for_its_share(self):
        reader, job = Workload(0, 4, 1), Workload(0, 4, 128)
        load = _APART.load([reader, *[job] * 32])
        self.assertLess(_BEST.least(load, _APART.load([reader])),
                        _BEST.least(load) / 50)
        self.assertEqual(_BEST.least(load),
                         _BEST.least(load, _APART.load([job])))

    def test_the_best_of_the_runs_by_iops_or_by_latency(self):
        deep, large = Workload(0, 4, 32), Workload(0, 256, 4)
        runs = [Sample((deep, deep), 2000.0, seen=(
            {'iops': 20000.0}, {'iops': 15000.0})), Sample((large,), 500.0)]
        self.assertEqual(rates.Rates(35000, 2048000),
                         fit_runs.runs(runs).best)

    def test_a_file_has_them_and_a_former_one_has_none(self):
        doc = _FLAT.to_json()
        self.assertEqual({'iops': 10000, 'kib_per_s': 400000}, doc['best'])
        self.assertEqual(_FLAT, Model.from_json(doc))
        del doc['best']
        load = _FLAT.load([Workload(0, 4, 64)])
        self.assertEqual(100, Model.from_json(doc).predict(load))
