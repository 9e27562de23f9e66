# SPDX-License-Identifier: Apache-2.0
""".zuul.yaml names jobs, environments and settings that exist."""

from __future__ import annotations

import configparser
import itertools
import pathlib
import re

import testtools
import yaml

ROOT = pathlib.Path(__file__).parents[2]

SHARED_JOBS = re.compile(
    r'openstack-tox(-(cover|docs|functional|pep8|py3\d+))?|devstack-tempest')
"""OpenStack's own that we use; they run the environment they are named by."""

SHARED_TEMPLATES = {'release-notes-jobs-python3'}

JOB_KEYS = {'name', 'parent', 'abstract', 'description', 'required-projects',
            'files', 'irrelevant-files', 'timeout', 'vars', 'voting'}
VARIANT_KEYS = {'files', 'irrelevant-files', 'voting'}


def expanded(name: str) -> set[str]:
    """What a section of tox.ini stands for: a{b,c} is ab and ac."""
    parts = [part.split(',') for part in re.split(r'[{}]', name)]
    return {''.join(choice) for choice in itertools.product(*parts)}


class ZuulTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        items = yaml.safe_load((ROOT / '.zuul.yaml').read_text())
        self.assertTrue(all(len(item) == 1 for item in items))
        self.jobs = {item['job']['name']: item['job'] for item in items
                     if 'job' in item}
        self.assertEqual(
            len(items), len(self.jobs) + 1, 'a job is named twice')
        self.project = items[-1]['project']
        tox = configparser.ConfigParser(interpolation=None)
        tox.read(ROOT / 'tox.ini')
        self.environments = set().union(*(
            expanded(section.partition(':')[2]) for section in tox
            if section.startswith('testenv:')))

    def has_environment(self, name):
        self.assertTrue(
            name in self.environments or re.fullmatch(r'py3\d*', name),
            f'tox.ini has no {name}')

    def used(self):
        """(job, what the project says of it) in any pipeline."""
        for name, pipeline in self.project.items():
            if name == 'templates':
                self.assertLessEqual(set(pipeline), SHARED_TEMPLATES)
                continue
            self.assertEqual({'jobs'}, set(pipeline))
            for job in pipeline['jobs']:
                if isinstance(job, dict):
                    yield from job.items()
                else:
                    yield job, {}

    def test_jobs_are_of_the_shape_that_zuul_expects(self):
        for name, job in self.jobs.items():
            self.assertLessEqual(set(job), JOB_KEYS, name)
            self.assertTrue(
                job['parent'] in self.jobs
                or SHARED_JOBS.fullmatch(job['parent']), job['parent'])
            for pattern in (*job.get('files', ()),
                            *job.get('irrelevant-files', ())):
                re.compile(pattern)

    def test_project_runs_jobs_that_there_are(self):
        used = dict(self.used())
        for name, variant in used.items():
            self.assertTrue(
                name in self.jobs or SHARED_JOBS.fullmatch(name), name)
            self.assertFalse(self.jobs.get(name, {}).get('abstract'), name)
            self.assertLessEqual(set(variant), VARIANT_KEYS)
        for name, job in self.jobs.items():
            self.assertTrue(job.get('abstract') or name in used,
                            f'nothing runs {name}')

    def test_tox_has_the_environments(self):
        for name, job in self.jobs.items():
            if name.startswith('serifos-tox') and not job.get('abstract'):
                self.has_environment(job['vars']['tox_envlist'])
        for name, _ in self.used():
            if name.startswith('openstack-tox-'):
                self.has_environment(name.removeprefix('openstack-tox-'))

    def test_every_supported_cinder_has_a_job(self):
        self.assertEqual(
            {name for name in self.environments if 'cinder' in name},
            {job['vars']['tox_envlist'] for job in self.jobs.values()
             if job['parent'] == 'serifos-tox-cinder'})

    def test_devstack_job_sets_what_the_plugin_reads(self):
        found = self.jobs['serifos-devstack-lvm']['vars']
        settings = (ROOT / 'devstack' / 'settings').read_text()
        for name in found['devstack_localrc']:
            if name.startswith('SERIFOS_'):
                self.assertIn(name, settings)
        for name in found['devstack_services']:
            if name.startswith('serifos'):
                self.assertRegex(settings, rf'enable_service.* {name}\b')
        for pair in found['devstack_localrc'][
                'SERIFOS_BACKEND_MODELS'].split(','):
            backend, _, model = pair.partition(':')
            self.assertIn(f'lvm:{backend}', found['devstack_localrc'][
                'CINDER_ENABLED_BACKENDS'])
            self.assertTrue((ROOT / 'etc/serifos/examples/paper/models'
                             / f'{model}.json').exists())

    def test_devstack_job_migrates_attached_volumes(self):
        found = self.jobs['serifos-devstack-lvm']['vars']
        self.assertRegex('tempest.scenario.test_volume_migrate_attached',
                         found['tempest_test_regex'])
        # The environment that runs what is slow, too, as those tests are.
        self.assertEqual('all', found['tox_envlist'])
        # Tempest skips them where there are fewer than two.
        self.assertGreater(len(found['devstack_localrc'][
            'CINDER_ENABLED_BACKENDS'].split(',')), 1)

    def test_the_scenario_that_a_job_runs_is_there(self):
        found = self.jobs['serifos-devstack-move']['vars']
        name = found['tempest_test_regex'].removeprefix('^')
        for place in found['tempest_plugins']:
            package = ROOT / place.removeprefix('serifos/') / name
            self.assertTrue((package / 'test_move.py').exists(), package)
