# SPDX-License-Identifier: Apache-2.0
"""The examples of the contributor's guide, installed and run."""

import importlib
import json
import pathlib
import subprocess
import sys
import tomllib

import ddt
import fixtures
import testtools

from serifos.balancer.observe import Observer
from serifos.balancer import planning
from serifos import errors
from serifos.facts import activity
from serifos.facts.cluster import Cluster
from serifos.facts.workload import Workload
from serifos.files import documents
from serifos.model import fit
from serifos.model import fit_runs
from serifos.model import kinds
from serifos import plugins
from tests.fakes.settings import Limits
from tests.unit.balancer import cloud
from tests.unit.cmd import command
from tests.unit.plan import clusters
from tests.unit import samples

ROOT = pathlib.Path(__file__).parents[3]
EXAMPLES = ROOT / 'doc' / 'source' / 'contributor' / 'examples'
HEADER = 'at,seconds,volume,write_pct,block_kib,iops,latency_us\n'

RUNS = [[Workload(50.0, 16.0, depth)] * count
        for depth in (1.0, 4.0, 16.0) for count in (1, 2, 3)]

CHOSEN = """
from serifos.cmd.balancer import adapters
from serifos import conf
chosen = conf.load(['{}'])
print(chosen.balancer.planner, type(adapters.telemetry(chosen)).__name__)
"""


class Installed(fixtures.Fixture):
    """The examples are a package that is installed, as pip would have it."""

    def _setUp(self):
        self.place = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        info = self.place / 'serifos_examples-1.0.dist-info'
        info.mkdir()
        (info / 'METADATA').write_text(
            'Metadata-Version: 2.1\nName: serifos-examples\nVersion: 1.0\n')
        groups = tomllib.loads((EXAMPLES / 'pyproject.toml').read_text())[
            'project']['entry-points']
        (info / 'entry_points.txt').write_text(''.join(
            f'[{group}]\n' + ''.join(
                f'{name} = {target}\n' for name, target in points.items())
            for group, points in groups.items()))
        for path in self.place, EXAMPLES:
            self.useFixture(fixtures.PythonPathEntry(str(path)))
        self._forget()
        self.addCleanup(self._forget)

    def _forget(self):
        importlib.invalidate_caches()
        for read_once in kinds.every, plugins.installed:
            read_once.cache_clear()


class Case(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.place = self.useFixture(Installed()).place

    def write(self, name, text):
        path = self.place / name
        path.write_text(text)
        return path

    def measured(self):
        """A dataset in which n workloads see n ms."""
        dataset = samples.dataset(RUNS, lambda run: 1000 * len(run))
        return dataset, samples.write(self.place / 'x.jsonl', dataset)


class PlannerTest(Case):

    def plan(self, *volumes):
        cluster = Cluster(
            (clusters.pool('a'), clusters.pool('b'), clusters.pool('c')),
            volumes)
        return planning.make_plan(
            'hottest', cluster, Limits(), clusters.MODELS)

    def test_the_hottest_volume_moves_and_no_other(self):
        plan = self.plan(*(clusters.volume(
            name, 'a', workload=Workload(50, 16, depth))
            for name, depth in (('u', 4), ('v', 32), ('w', 8))))
        move, = plan.moves
        self.assertEqual(('v', 'a'), (move.volume, move.source))
        self.assertEqual('hottest', plan.planner)
        self.assertLess(plan.max_us.after, plan.max_us.before)

    def test_it_stays_where_nothing_is_gained(self):
        self.assertEqual((), self.plan(clusters.volume('u', 'a')).moves)
        self.assertEqual((), self.plan().moves)


class KindTest(Case):

    def test_fit_write_read_predict(self):
        dataset, _ = self.measured()
        path = self.place / 'x.json'
        documents.write_model(path, fit.fit(dataset, 'mean-by-count', 'x'))
        model = documents.read_model(path)
        self.assertEqual('mean-by-count', model.kind)
        self.assertEqual(
            [0, 1000, 2000, 3000, 3000],
            [model.predict(model.load(RUNS[0] * n)) for n in range(5)])
        self.assertEqual(0, model.quality['mre'])
        loads = fit_runs.runs(dataset.samples)
        self.assertEqual([model.predict(load) for load in loads.loads],
                         model.predictor.many(loads.vectors).tolist())

    def test_parameters_that_are_none(self):
        for bad in {}, {'one': 1}, {'1': None}, {'1': -5}:
            error = self.assertRaises(
                errors.FormatError, kinds.predictor, 'mean-by-count', bad)
            self.assertIn('fit it again', str(error))


@ddt.ddt
class SourceTest(cloud.Case):

    def setUp(self):
        super().setUp()
        self.place = self.useFixture(Installed()).place
        self.file = self.place / 'activity.csv'

    def source(self, text):
        self.file.write_text(text)
        return importlib.import_module('example_source').Csv(
            str(self.file), lambda: self.now)

    def test_an_observation_by_it(self):
        at = self.now - 10
        source = self.source(
            HEADER + f'{at - 60},60,u,50,16,1,1\n'
            f'{at},60,u,30,64,2000,4000\n{at},60,v,0,0,0,0\n'
            f'{at - 9999},60,w,50,16,1,1\n')
        seen = Observer(
            self.cinder, source, self.journal(), self.settings,
            lambda: self.now).observe()
        workloads = {volume.id: volume.workload
                     for volume in seen.cluster.volumes}
        self.assertEqual(
            (30, 64, 8), (workloads['u'].write_pct, workloads['u'].block_kib,
                          workloads['u'].outstanding))
        self.assertFalse(workloads['v'].is_active())
        self.assertIsNone(workloads['w'])
        self.assertEqual(
            seen.cluster,
            documents.read_cluster(self.settings.cluster_file))

    @ddt.data('nan', '-1', '1e99')
    def test_a_figure_of_no_volume(self, iops):
        source = self.source(f'{HEADER}{self.now},60,u,50,16,{iops},1\n')
        place = activity.MeasuredVolume('u', 'u', cloud.A)
        seen = source.observe([place], 600)
        self.assertEqual({}, seen.volumes)
        self.assertIn('its iops is', seen.missing['u'])

    @ddt.data('a,b\n1,2\n', HEADER + 'x,60,u,50,16,1,1\n', HEADER + '1\n')
    def test_no_telemetry(self, text):
        error = self.assertRaises(
            errors.CloudError, self.source(text).observe, [], 600)
        self.assertIn('needs the columns volume, at', str(error))


class StudyTest(Case):

    def test_the_verb(self):
        code, out, err = command.model(
            'mean-by-count', self.measured()[1], '-f', 'json')
        self.assertEqual((0, ''), (code, err))
        self.assertEqual(
            [(n, 3, 1000.0 * n) for n in (1, 2, 3)],
            [tuple(row[name] for name in ('count', 'runs', 'mean_us'))
             for row in json.loads(out)])

    def test_a_dataset_that_is_none(self):
        code, out, err = command.model('mean-by-count', self.place / 'no')
        self.assertEqual((2, ''), (code, out))
        self.assertIn('no', err)


class ChosenTest(Case):

    def test_serifos_conf_names_a_planner_and_a_source(self):
        conf = self.write('serifos.conf', f"""
[balancer]
planner = hottest
[telemetry]
source = csv
[telemetry_csv]
file = {self.place}/activity.csv
""")
        said = subprocess.run(
            [sys.executable, '-c', CHOSEN.format(conf)], text=True,
            check=True, capture_output=True,
            env={'PYTHONPATH': ':'.join(sys.path)}).stdout
        self.assertEqual(['hottest', 'Csv'], said.split())

    def test_what_is_not_installed_or_broken_is_told(self):
        for name in 'missing', 'hottest':
            self.write('serifos_examples-1.0.dist-info/entry_points.txt',
                       f'[{plugins.PLANNERS}]\nhottest = nowhere:plan\n')
            plugins.installed.cache_clear()
            error = self.assertRaises(
                errors.InputError, plugins.load, plugins.PLANNERS, name)
            self.assertIn(f'{name} ', str(error))
