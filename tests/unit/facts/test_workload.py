# SPDX-License-Identifier: Apache-2.0

import dataclasses

from hypothesis import given
from hypothesis import strategies
import testtools

from serifos.facts.workload import Load
from serifos.facts.workload import Workload

workloads = strategies.builds(
    Workload,
    write_pct=strategies.floats(0, 100),
    block_kib=strategies.floats(0.5, 1024),
    iodepth=strategies.floats(0, 128),
    iops=strategies.none() | strategies.floats(0, 1e6),
    latency_us=strategies.none() | strategies.floats(0, 100))


class WorkloadTest(testtools.TestCase):

    def test_q_is_littles_law_where_both_are_known(self):
        self.assertEqual(8, Workload(30, 16, 2, iops=2000,
                                     latency_us=4000).outstanding)

    def test_q_is_the_iodepth_where_one_is_missing(self):
        self.assertEqual(2, Workload(30, 16, 2, iops=2000).outstanding)
        self.assertEqual(
            2, Workload(30, 16, 2, latency_us=4000).outstanding)

    def test_the_defaults_are_the_formats(self):
        self.assertEqual((30, 16, 8, 100, 0), Workload(30, 16).pattern)

    def test_another_think_time_is_another_pattern(self):
        self.assertNotEqual(Workload(30, 16).pattern,
                            Workload(30, 16, think_time_us=1).pattern)


class LoadTest(testtools.TestCase):

    def test_a_load_counts_by_number_and_by_q(self):
        load = Load.of(Workload(25, 16, 8, 50))
        self.assertEqual(
            {'count': 1, 'sum_write_pct': 25, 'sum_block_kib': 16,
             'sum_iodepth': 8, 'sum_q_r': 6, 'sum_q_w': 2,
             'sum_q_s_r': 96, 'sum_q_s_w': 32, 'sum_random_pct': 50,
             'sum_q_r_x': 3, 'sum_q_w_x': 1, 'sum_q_s2_r': 0.375,
             'sum_q_s2_w': 0.125, 'sum_s_w': 4, 'sum_root_s_r': 0.75,
             'sum_root_s_w': 0.25, 'sum_q_quick_w': 0.6153846085071564,
             'sum_q_s_quick_w': 9.84615384042263,
             'sum_q_slow_w': 7.641791045665741,
             'sum_q_s_slow_w': 122.2686567157507, 'sum_queue': 10,
             'outside': 0},
            dataclasses.asdict(load))

    def test_an_idle_or_unknown_workload_is_no_load(self):
        idle = Workload(50, 256, 8, iops=10, latency_us=4000)
        self.assertEqual(0.04, idle.outstanding)
        self.assertEqual(Load(), Load.of(idle))
        self.assertEqual(Load(), Load.of(None))

    def test_the_floor_itself_is_active(self):
        at = Workload(50, 4, 8, iops=100, latency_us=500)
        self.assertEqual(1, Load.of(at).count)
        self.assertEqual(0, Load.of(at, floor=0.06).count)

    @given(strategies.lists(workloads, max_size=30), workloads,
           strategies.randoms())
    def test_placing_and_lifting_is_exact_in_any_order(
            self, others, one, random):
        loads = [Load.of(w) for w in others]
        base = sum(loads, Load())
        random.shuffle(loads)
        self.assertEqual(base, sum(loads, Load()))
        self.assertEqual(base, base + Load.of(one) - Load.of(one))
