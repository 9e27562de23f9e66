# SPDX-License-Identifier: Apache-2.0

import copy
import dataclasses
import functools
import json
import math

import ddt
import hypothesis
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies
import numpy as np
import testtools

from serifos.design import d_optimal
from serifos import errors
from serifos.facts.dataset import Dataset
from serifos.facts.dataset import Sample
from serifos.facts.workload import ACTIVE_FLOOR
from serifos.facts.workload import Load
from serifos.facts.workload import Workload
from serifos.lab.sim.device import SimulatedDevice
from serifos.lab.sim import devices
from serifos.model import fit
from serifos.model import kinds
from serifos.model.model import Model
from tests.unit import samples

_RUNS = d_optimal.runs(60)

unhurried = settings(deadline=None)
light = samples.workloads(ACTIVE_FLOOR)
_pools = strategies.lists(samples.workloads(), min_size=1, max_size=12)


def _seen(run, workload):
    """A bus that all wait for; blocks of one's own; writes into a buffer."""
    load = samples.load(run)
    wait = np.hypot(90 + 3 * load.sum_q_r, 1.2 * load.sum_q_s_r
                    + 1.5 * load.sum_q_s_w)
    read = wait + 3.0 * workload.block_kib
    write = 30 + 0.4 * wait
    w = workload.write_pct / 100
    return {'latency_us': (1 - w) * read + w * write,
            'read_latency_us': read if w < 1 else None,
            'write_latency_us': write if w else None,
            'read_p99_us': 3 * read if w < 1 else None}


def _sample(run):
    seen = tuple(_seen(run, workload) for workload in run)
    return Sample(tuple(run), float(np.mean(
        [one['latency_us'] for one in seen])), seen=seen)


def _throttled(run):
    """Writes wait for tens of milliseconds, reads for each other alone.

    In a closed loop: a tenant that does both has hardly a read outstanding.
    """
    reading = [(w.write_pct / 100, 1 - w.write_pct / 100, w) for w in run]
    behind = sum(w.iodepth * r / (r + 100 * x) for x, r, w in reading)
    written = sum(w.iodepth * w.block_kib * 100 * x / (r + 100 * x)
                  for x, r, w in reading)
    read, write = 80 + 10 * behind, 2000 + 5 * written
    seen = tuple({
        'latency_us': r * read + x * write,
        'read_latency_us': read if r else None,
        'write_latency_us': write if x else None,
        'read_p99_us': 3 * read if r else None} for x, r, w in reading)
    return Sample(tuple(run), float(np.mean(
        [one['latency_us'] for one in seen])), seen=seen)


def _queued(run):
    """What tenants see whose own requests are served one after another."""
    device = 80 + 0.25 * samples.load(run).sum_iodepth
    seen = tuple({'latency_us': device + 9 * w.iodepth * (
        1 + w.block_kib / 64)} for w in run)
    return Sample(tuple(run), float(np.mean(
        [one['latency_us'] for one in seen])), seen=seen)


def dataset(runs=_RUNS):
    return Dataset(samples.HEADER, tuple(map(_sample, runs)))


@functools.cache
def fitted(predicts='latency_us'):
    return fit.fit(dataset(), 'tenant', predicts=predicts,
                   settings={'members': 1 + (predicts == 'latency_us')})


@functools.cache
def fitted_to_flash():
    """A model of few short runs of a device that is simulated by pages."""
    made = tuple(SimulatedDevice(
        devices.PAGED, np.random.default_rng(i), 200).measure(run, 60)
        for i, run in enumerate(d_optimal.runs(20)))
    return fit.fit(Dataset(samples.HEADER, made), 'tenant',
                   settings={'members': 1})


def _vector(*run):
    return np.array([samples.load(run).vector])


@ddt.ddt
class TenantTest(testtools.TestCase):

    @ddt.data('latency_us', 'read_p99_us')
    def test_numpy_and_the_standard_library_agree(self, predicts):
        predictor = fitted(predicts).predictor

        @given(_pools, light)
        @unhurried
        def agree(others, mine):
            run = [*others, mine]
            load = samples.load(run)
            pairs = [(predictor.predict(load),
                      predictor.many(_vector(*run))[0]),
                     (predictor.log_std(load),
                      predictor.log_std_many(_vector(*run))[0]),
                     (predictor.tenant(load, mine).latency_us or 0.0,
                      predictor.tenants(_vector(*run), _vector(mine))[0]),
                     (predictor.tenant_log_std(load, mine),
                      predictor.tenants_log_std(
                          _vector(*run), _vector(mine))[0])]
            for expected, one in pairs:
                self.assertLessEqual(abs(one - expected),
                                     1e-9 * max(1, abs(expected)))
        agree()

    @ddt.data(fitted, fitted_to_flash)
    def test_another_tenant_never_lowers_mine(self, made):
        predictor = made().predictor

        @settings(max_examples=80, deadline=None)
        @given(_pools, light, light)
        def rises(others, mine, more):
            before, after = (predictor.tenant(samples.load(run), mine)
                             for run in ([*others, mine],
                                         [*others, mine, more]))
            for name in ('latency_us', 'read_latency_us',
                         'write_latency_us'):
                was, now = getattr(before, name), getattr(after, name)
                if was is not None:
                    self.assertGreaterEqual(now, was * (1 - 1e-7))
        rises()

    @ddt.data(fitted, fitted_to_flash)
    def test_another_tenant_never_lowers_mine_in_planning(self, made):
        model, large = made(), Workload(0, 4096, 1)

        @settings(max_examples=100, deadline=None)
        @given(_pools, light, light)
        def rises(others, mine, more):
            own = [model.load([mine])]
            before, after = (model.load(run) for run in (
                [mine, large, *others], [mine, large, *others, more]))
            self.assertTrue(model.extrapolates(before))
            (was,), (now,) = (model.seen(load, own)
                              for load in (before, after))
            self.assertGreaterEqual(now, was * (1 - 1e-7))
            self.assertGreater(was, model.tenant(before, mine).latency_us)
        rises()

    @given(_pools)
    @unhurried
    def test_a_pool_sees_the_mean_of_its_tenants(self, run):
        predictor, load = fitted().predictor, samples.load(run)
        each = [predictor.tenant(load, workload).latency_us
                for workload in run]
        self.assertAlmostEqual(
            1, predictor.predict(load) / np.mean(each), 9)
        some, = predictor.tenants(_vector(*run), _vector(*run[:2]))
        self.assertAlmostEqual(1, some / np.mean(each[:2]), 9)

    @given(_pools)
    @unhurried
    def test_the_mean_of_reads_takes_each_tenant_once(self, run):
        predictor, load = fitted('read_p99_us').predictor, samples.load(run)
        hypothesis.assume(all(w.write_pct <= 99.9 for w in run))
        self.assertAlmostEqual(1, predictor.predict(load) / np.mean([
            predictor.tenant(load, workload).latency_us
            for workload in run]), 9)

    @given(_pools)
    @unhurried
    def test_many_tenants_of_a_pool_cost_one_prediction(self, run):
        predictor = fitted().predictor
        factors = predictor.factors(np.vstack([_vector(w) for w in run]))
        found = factors @ predictor.parts(_vector(*run))[0]
        for workload, one in zip(run, found):
            seen = predictor.tenant(samples.load(run), workload)
            self.assertAlmostEqual(1, one / seen.latency_us, 9)

    @given(_pools)
    @unhurried
    def test_all_requests_are_reads_and_writes(self, run):
        predictor, load = fitted().predictor, samples.load(run)
        for workload in run:
            seen = predictor.tenant(load, workload)
            w = workload.write_pct / 100
            self.assertAlmostEqual(1, (
                (1 - w) * (seen.read_latency_us or 0)
                + w * (seen.write_latency_us or 0)) / seen.latency_us, 6)

    def test_it_tells_tenants_apart(self):
        model = fitted()
        small, large = Workload(20, 4), Workload(20, 256)
        for run in ([small, large], [small, large, Workload(80, 32)]):
            load = model.load(run)
            for workload in (small, large):
                expected = _seen(run, workload)
                seen = model.tenant(load, workload)
                self.assertAlmostEqual(
                    1, seen.latency_us / expected['latency_us'], delta=0.2)
                low, high = model.tenant_interval(load, workload)
                self.assertLess(low, seen.latency_us)
                self.assertLess(seen.latency_us, high)
        self.assertLess(model.quality['tenant_mre'], 0.08)
        self.assertEqual({str(n) for n in range(1, 11)},
                         set(model.quality['tenant_mre_by_count']))

    def test_each_tenant_waits_for_its_own_requests(self):
        model = fit.fit(Dataset(samples.HEADER, tuple(map(_queued, [
            [Workload(0, 4, 1)] * few + [Workload(w, s, q)] * many
            for few in (0, 1, 4) for many in (1, 2, 8) for q in (8, 32, 128)
            for s, w in ((4, 0), (64, 50))]))), 'tenant',
            settings={'members': 1})
        self.assertLess(model.quality['tenant_mre'], 0.1)
        reader, job = Workload(0, 4, 1), Workload(0, 4, 128)
        run = [reader, *[job] * 4]
        for one, seen in zip(run[:2], _queued(run).seen):
            found = model.tenant(model.load(run), one).latency_us
            self.assertAlmostEqual(1, found / seen['latency_us'], delta=0.15)

    def test_beyond_its_runs_latency_rises_with_depth_as_a_queue_does(self):
        model, powers = fitted_to_flash(), []
        for run in _RUNS:
            deep = [dataclasses.replace(w, iodepth=6 * w.iodepth)
                    for w in run]
            powers.append(np.log(model.predict(model.load(deep))
                                 / model.predict(model.load(run)))
                          / np.log(6))
        self.assertLess(np.median(powers), 1.15)

    def test_reads_beside_slow_writes_are_those_that_wait(self):
        model = fit.fit(
            Dataset(samples.HEADER, tuple(map(_throttled, _RUNS))),
            'tenant', predicts='read_p99_us', settings={'members': 1})
        tests = [_throttled([Workload(w, s, 8) for w in (10, 50, 90)
                             for s in blocks])
                 for blocks in ((4,), (64,), (4, 64, 256))]
        ratios = [model.predict(model.load(one.tenants))
                  / one.figure('read_p99_us') for one in tests]
        self.assertLess(max(ratios), 1.4)
        self.assertGreater(min(ratios), 1 / 1.4)

    def test_a_file_of_former_inputs_is_read(self):
        doc = copy.deepcopy(fitted().parameters)
        newer = {'slow_writes', 'slow_write_kib', 'reads_beside',
                 'read_kib_beside'}
        for member in doc['members']:
            del member['parts']['queue_us']
            for sums in (*member['units'], *member['parts'].values()):
                for name in newer & set(sums):
                    del sums[name]
        self.assertTrue(math.isfinite(kinds.predictor('tenant', doc).predict(
            samples.load(_RUNS[0]))))

    def test_light_pools_have_intervals_of_their_own(self):
        model = fitted()
        single = [Workload(20, 4, iodepth=0.5)]
        for run, name in ((single, 'light_tenant_deviations'),
                          (single * 40, 'tenant_deviations')):
            load = model.load(run)
            log_std = model.predictor.tenant_log_std(load, run[0])
            seen = model.tenant(load, run[0]).latency_us
            self.assertEqual(
                [seen * math.exp(end * log_std)
                 for end in model.quality[name]],
                [*model.tenant_interval(load, run[0])])
        self.assertNotEqual(model.quality['light_tenant_deviations'],
                            model.quality['tenant_deviations'])

    def test_a_tenant_without_reads_has_no_latency_of_reads(self):
        model, writer = fitted(), Workload(100, 16)
        seen = model.tenant(model.load([writer]), writer)
        self.assertIsNone(seen.read_latency_us)
        self.assertEqual(seen.latency_us, seen.write_latency_us)
        model = fitted('read_p99_us')
        seen = model.tenant(model.load([writer]), writer)
        self.assertEqual(kinds.Seen(None), seen)
        self.assertEqual(0, model.predict(model.load([writer])))
        self.assertIsNone(model.tenant_interval(
            model.load([writer]), writer))

    def test_runs_that_say_nothing_of_tenants_are_enough(self):
        model = fit.fit(samples.dataset(
            _RUNS, lambda run: _sample(run).latency_us), 'tenant',
            settings={'members': 1})
        self.assertLess(model.quality['mre'], 0.2)
        self.assertNotIn('tenant_mre', model.quality)

    def test_reads_of_idle_tenants_alone_are_not_fitted(self):
        runs = [(Workload(100, 4 + i), Workload(0, 4,
                                                think_time_us=1e6))
                for i in range(8)]
        seen = {'iops': 1.0, 'latency_us': 90.0, 'read_latency_us': 90.0}
        made = Dataset(samples.HEADER, tuple(
            Sample(run, 90.0, seen=({'latency_us': 90.0}, seen))
            for run in runs))
        exc = self.assertRaises(errors.InputError, fit.fit, made, 'tenant',
                                predicts='read_latency_us')
        self.assertIn('has 0 different runs', str(exc))

    @ddt.data('read_iops', 'request_latency_us')
    def test_what_is_no_latency_of_tenants_is_refused(self, predicts):
        exc = self.assertRaises(
            errors.InputError, kinds.of('tenant').fit,
            [samples.load(run) for run in _RUNS], np.ones(len(_RUNS)), {},
            (), predicts)
        self.assertIn(f'predicts the latency of tenants, not {predicts};',
                      str(exc))

    def test_a_file_holds_all_of_it(self):
        doc = json.loads(json.dumps(fitted().to_json()))
        self.assertTrue(doc['tenants'])
        self.assertEqual(fitted().predictor,
                         Model.from_json(doc).predictor)

    def test_equal_loads_are_equal_in_any_company(self):
        predictor = fitted().predictor
        rows = np.tile(np.vstack([_vector(*run) for run in _RUNS[:13]]),
                       (700, 1))
        found = predictor.many(rows).reshape(700, 13)
        self.assertTrue(np.all(found == found[0]))

    def test_nothing_active_is_a_latency_of_nothing(self):
        predictor = fitted().predictor
        self.assertEqual(0, predictor.predict(Load()))
        self.assertEqual([0], predictor.many(_vector()).tolist())

    def test_no_prediction_is_wild(self):
        model = fitted()
        for run in ([Workload(w, s, q, x)] * n for w in (0, 100)
                    for s in (4, 1024) for q in (1, 64) for x in (0, 100)
                    for n in (1, 20)):
            ratio = model.predict(model.load(run)) / _sample(run).latency_us
            self.assertTrue(0.1 < ratio < 10, (run[0], len(run), ratio))

    @ddt.data(
        (('figure',), 'iops', 'figure of a tenant model must be all, read'),
        (('trend', 'read_us'), None, 'read_us of a tenant model is not a'),
        (('noise',), float('nan'), 'noise of a tenant model is not a numb'),
        (('members',), [], 'must be a list of networks'),
        (('members', 0), {}, 'must have units, and the parts'),
        (('members', 0, 'units', 0, 'offset'), None, 'offset of a tenant'),
        (('members', 0, 'units', 0), {'offset': 0, 'reads': -1}, 'reads of'),
        (('members', 0, 'parts', 'read_us'), {'offset': 0, 'else': 1},
         'must be sums over'))
    @ddt.unpack
    def test_a_file_that_says_nonsense_is_refused(self, path, value, why):
        doc = copy.deepcopy(fitted().parameters)
        where = functools.reduce(lambda d, name: d[name], path[:-1], doc)
        where[path[-1]] = value
        exc = self.assertRaises(errors.FormatError, kinds.predictor,
                                'tenant', doc)
        self.assertIn(why, str(exc))


class PoolMeanTest(testtools.TestCase):

    def test_a_kind_without_tenants_takes_the_mean_of_the_pool(self):
        model = fit.fit(dataset(), 'outstanding')
        run = [Workload(20, 4), Workload(20, 256)]
        load = model.load(run)
        self.assertFalse(model.tenants)
        for workload in run:
            self.assertEqual(kinds.Seen(model.predict(load)),
                             model.tenant(load, workload))
            self.assertIsNone(model.tenant_interval(load, workload))
        self.assertGreater(model.quality['tenant_mre'], 0.2)
