# SPDX-License-Identifier: Apache-2.0
"""Runs and datasets in memory."""

import testtools

from serifos.facts import dataset
from serifos.facts.workload import Workload
from serifos.model import fit
from serifos.model import fit_runs
from tests.unit.model import pairs
from tests.unit import samples


class TenantsTest(testtools.TestCase):

    def test_q_is_the_iodepth_asked_for(self):
        sample = dataset.Sample((Workload(30, 16, 8),), 100.0,
                                seen=({'iops': 5e4, 'latency_us': 100.0},))
        self.assertEqual(8, sample.tenants[0].outstanding)
        self.assertEqual(sample.workloads, dataset.Sample(
            sample.workloads, 100.0).tenants)

    def test_who_thinks_keeps_fewer_outstanding(self):
        thinks = Workload(30, 16, 8, think_time_us=300)
        sample = dataset.Sample((thinks,), 100.0,
                                seen=({'iops': 2e4, 'latency_us': 100.0},))
        self.assertEqual(2, sample.tenants[0].outstanding)
        self.assertEqual(thinks.pattern, sample.tenants[0].pattern)
        self.assertEqual(8, dataset.Sample(
            (thinks,), 100.0).tenants[0].outstanding)

    def test_the_range_is_of_what_planning_will_see(self):
        runs = [(Workload(w, s, 8, think_time_us=1e4),)
                for w in (0, 50, 100) for s in (4, 16, 64)]
        model = fit.fit(pairs.device('A', runs), 'outstanding')
        self.assertLess(model.range['iodepth'][1], 8)

    def test_runs_of_idle_tenants_alone_tell_nothing(self):
        runs = [(Workload(50, 4, 1, think_time_us=think),)
                for think in (0, 100, 1e7)]
        self.assertEqual([1, 1], fit_runs.runs(
            pairs.device('A', runs).samples).counts)

    def test_conditions_come_back_from_a_file_and_tell_runs_apart(self):
        def made(*condition):
            return dataset.Sample((Workload(50, 4), Workload(50, 8)), 9.0,
                                  condition=dataset.Condition(*condition))
        every = [made(size, name) for size in (None, 1.0, 2.5)
                 for name in (None, 'none', 'mq-deadline')]
        for sample in every:
            self.assertEqual(sample.condition, dataset.Sample.from_json(
                sample.to_json()).condition)
        self.assertEqual(9, len({sample.key for sample in every}))
        self.assertEqual(9, len(sorted(sample.key for sample in every)))

    def test_without_conditions_nothing_of_them_is_said(self):
        sample = dataset.Sample((Workload(50, 4),), 9.0)
        self.assertEqual((sample.workloads[0].pattern,), sample.key)
        self.assertEqual({'workloads', 'latency_us', 'request_latency_us',
                          'round'}, set(sample.to_json()))

    def test_the_words_of_a_condition(self):
        self.assertEqual('on 0.5 GiB, by bfq',
                         dataset.Condition(0.5, 'bfq').words)
        self.assertEqual('', dataset.Condition().words)

    def test_think_times_come_back_from_a_file(self):
        runs = [(Workload(50, 4, think_time_us=think),)
                for think in (0.0, 7.0)]
        for sample in samples.dataset(runs, lambda run: 9.0).samples:
            again = dataset.Sample.from_json(sample.to_json())
            self.assertEqual(sample.workloads, again.workloads)
            self.assertEqual(sample.key, again.key)


class DifferencesTest(testtools.TestCase):

    def test_they_are_in_words_of_a_person(self):
        self.assertEqual(
            ['runtime_s 1 and 2.5', 'size_gib 447.1309 and 447.1308',
             'varied none and file set', 'direct yes and no',
             'levels 1,64 and none'],
            dataset.differences(
                {'runtime_s': 1.0, 'size_gib': 447.1309, 'direct': True,
                 'levels': ['1', '64'], 'ioengine': 'libaio'},
                {'runtime_s': 2.5, 'size_gib': 447.1308, 'direct': False,
                 'varied': 'file set', 'ioengine': 'libaio'},
                ('runtime_s', 'size_gib', 'varied', 'direct', 'levels',
                 'ioengine')))
