# SPDX-License-Identifier: Apache-2.0
"""What the plugin counts, as node_exporter's textfile collector finds it."""

import os
import pathlib
import re
import time

import fixtures
from prometheus_client import parser

from tests.unit.scheduler import cloud  # first: it skips without Cinder

from serifos.scheduler import metrics
from tests.unit.scheduler import files
from tests.unit.scheduler import test_weigher

ROOT = pathlib.Path(__file__).parents[3]
A, B = test_weigher.A, test_weigher.B


class Case(test_weigher.Case):

    def setUp(self):
        super().setUp()
        self.metrics = self.files.dir / 'metrics'
        self.metrics.mkdir()
        self.addCleanup(metrics.use, None)
        self.useFixture(fixtures.MonkeyPatch(
            'serifos.scheduler.metrics.EVERY_S', 0.0))
        self.configure(metrics_dir=str(self.metrics))

    def read(self):
        """Sample and labels but the worker → value."""
        text = (self.metrics / f'serifos-scheduler-{os.getpid()}.prom'
                ).read_text()
        found = {}
        for family in parser.text_string_to_metric_families(text):
            for sample in family.samples:
                labels = dict(sample.labels)
                self.assertEqual(str(os.getpid()), labels.pop('worker'))
                name = sample.name.removeprefix('serifos_scheduler_')
                found[' '.join((name, *labels.values()))] = sample.value
        return found


class WeigherTest(Case):

    def test_what_is_counted(self):
        self.busy(a=64, b=8)
        for _ in range(3):
            self.cloud.create()
        found = self.read()
        self.assertEqual(3, found['requests_total weigher judged'])
        self.assertEqual(3, found['requests_total filter judged'])
        self.assertEqual(3, found['request_seconds_count weigher'])
        self.assertLess(found['request_seconds_sum weigher'], 3)
        self.assertAlmostEqual(
            time.time(), found['observation_timestamp_seconds'], delta=60)
        self.assertAlmostEqual(
            time.time(), found['model_timestamp_seconds'], delta=60)
        self.assertEqual(0, found['refused_pools_total'])

    def test_volumes_are_placed_though_nothing_can_be_counted(self):
        self.busy(a=64, b=8)

        def broken(*_):
            raise ValueError('no value can be kept')

        for verb in '__init__', 'request', 'refused', 'seen':
            with self.subTest(verb):
                metrics.use(None)
                with fixtures.MonkeyPatch(
                        'serifos.scheduler.metrics.TextFile.'
                        f'{verb}', broken):
                    metrics.use(str(self.metrics))
                    self.assertLessEqual({
                        self.cloud.create().host for _ in range(2)}, {A, B})
        metrics.use(None)
        metrics.use(str(self.metrics))
        self.cloud.create()
        self.assertEqual(1, self.read()['requests_total weigher judged'])

    def test_no_opinion_and_errors(self):
        self.pools(A, B)
        self.cloud.create()
        self.assertEqual(
            1, self.read()['requests_total weigher no_opinion'])
        self.useFixture(fixtures.MonkeyPatch(
            'serifos.scheduler.judge.Judge.judge', lambda *_: 1 / 0))
        self.cloud.create()
        self.assertEqual(1, self.read()['requests_total weigher error'])

    def test_pools_that_are_refused(self):
        self.busy(a=64, b=8)
        self.cloud.create(kind=self.cloud.type(
            'gold', serifos__max_latency_us='500'))
        self.assertEqual(1, self.read()['refused_pools_total'])

    def test_a_directory_that_is_not_there(self):
        self.configure(metrics_dir=str(self.files.dir / 'none'))
        self.busy(a=64, b=8)
        self.assertEqual(B, self.cloud.create().host)
        self.assertIn('Serifos cannot write its metrics', self.log.output)

    def test_nothing_is_counted_unless_it_is_asked_for(self):
        self.configure(metrics_dir=None)
        self.busy(a=64, b=8)
        self.cloud.create()
        self.assertEqual([], [*self.metrics.iterdir()])

    def test_files_of_processes_that_are_long_gone(self):
        for name, age_s in ('1', metrics.OLD_S + 60), ('2', 60):
            path = self.metrics / f'serifos-scheduler-{name}.prom'
            path.write_text('')
            os.utime(path, (time.time() - age_s,) * 2)
        self.busy(a=64, b=8)
        self.cloud.create()
        self.assertEqual(
            {f'serifos-scheduler-{name}.prom' for name in (2, os.getpid())},
            {path.name for path in self.metrics.iterdir()})

    def test_a_file_that_is_gone_before_it_is_looked_at(self):
        for name in '13':
            gone = self.metrics / f'serifos-scheduler-{name}.prom'
            gone.symlink_to(self.metrics / 'nothing')
        old = self.metrics / 'serifos-scheduler-2.prom'
        old.write_text('')
        os.utime(old, (time.time() - metrics.OLD_S - 60,) * 2)
        self.busy(a=64, b=8)
        self.cloud.create()
        self.assertFalse(old.exists())
        self.assertNotIn('cannot write its metrics', self.log.output)

    def test_it_is_written_at_intervals(self):
        self.useFixture(fixtures.MonkeyPatch(
            'serifos.scheduler.metrics.EVERY_S', 1000.0))
        self.busy(a=64, b=8)
        self.cloud.create()
        before = self.read()
        self.cloud.create()
        self.assertEqual(before, self.read())

    def test_anybody_may_read_it(self):
        self.busy(a=64, b=8)
        self.cloud.create()
        path, = self.metrics.iterdir()
        self.assertEqual(0o644, path.stat().st_mode & 0o777)


class NamesTest(Case):

    def test_alerts_dashboard_and_docs_name_what_is_written(self):
        self.busy(a=64, b=8)
        self.cloud.create()
        found = {f'serifos_scheduler_{name.split()[0]}'
                 for name in self.read()}
        for file in ('etc/serifos/prometheus/serifos-alerts.yaml',
                     'etc/serifos/grafana/serifos-dashboard.json',
                     'doc/source/admin/metrics.rst'):
            named = set(re.findall(r'serifos_scheduler_\w+',
                                   (ROOT / file).read_text()))
            self.assertNotEqual(set(), named)
            self.assertEqual(
                set(), named - found - {'serifos_scheduler_request_seconds'})


class DriverTest(Case):

    scheduler = cloud.SERIFOS

    def weighers(self):
        return ['CapacityWeigher']

    def test_placements_that_are_changed(self):
        self.busy(a=64, b=8)
        for free, changed in ((950, 1), (850, 1)):
            self.cloud.pool(A, 10, free_gib=free, serifos_model='ssd')
            self.assertEqual(B, self.cloud.create().host)
            self.assertEqual(
                changed, self.read()['changed_placements_total'])
        self.assertEqual(2, self.read()['ranked_placements_total'])
        self.assertEqual(2, self.read()['requests_total driver judged'])

    def test_no_opinion_changes_nothing(self):
        self.files.cluster([A, B], [files.volume('1', A, 8)])
        self.pools(A, B, model='none', allocated_gib=10)
        self.cloud.create()
        found = self.read()
        self.assertEqual(1, found['requests_total driver no_opinion'])
        self.assertEqual(0, found['ranked_placements_total'])
        self.assertEqual(0, found['changed_placements_total'])
