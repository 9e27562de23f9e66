# SPDX-License-Identifier: Apache-2.0
"""The DevStack plugin sets up, starts, stops and removes serifos.

Its phases run in bash over functions.sh, the thin stand-in, and, where
DEVSTACK_DIR names a DevStack, over that one's own functions as well.
"""

import json
import os
import pathlib
import stat

import ddt
from keystoneauth1 import loading
from oslo_config import cfg
import testtools

from serifos import conf
from serifos.conf import scheduler
from tests.unit.devstack import stack

UP = ('stack pre-install', 'stack install', 'stack post-config',
      'stack extra', 'stack test-config')
MODELS = 'lvmdriver-1:intel-s3500,lvmdriver-2:home-made'
VARIABLES = {'SERIFOS_BACKEND_MODELS': MODELS}


def called(calls, *words):
    return [call for call in calls if all(word in call for word in words)]


def lines(text):
    return [line for line in text.splitlines() if line]


@ddt.ddt
class PluginTest(testtools.TestCase):

    DEVSTACK: pathlib.Path | None = None

    def setUp(self):
        super().setUp()
        self.stack = self.useFixture(stack.Stack(self.DEVSTACK))

    def run_phases(self, *phases, **others):
        code, output, calls = self.stack.run(*phases, **others)
        self.assertEqual(0, code, output)
        self.assertNotIn('failed at', output)
        return output, calls

    def refused(self, **others):
        code, output, calls = self.stack.run(*UP, **others)
        self.assertNotEqual(0, code)
        self.assertEqual([], calls)
        return output

    def cinder(self, *backends):
        """cinder.conf as Cinder reads it."""
        found = cfg.ConfigOpts()
        scheduler.register_opts(found)
        found.register_opts([cfg.StrOpt('scheduler_driver'),
                             cfg.ListOpt('scheduler_default_weighers'),
                             cfg.ListOpt('scheduler_default_filters')])
        for name in backends:
            found.register_opt(cfg.StrOpt('extra_capabilities'), name)
        found([], default_config_files=[str(self.stack.cinder_conf)])
        return found

    def test_stacking_installs_beside_cinder(self):
        calls = self.run_phases(*UP)[1]
        self.assertTrue(called(calls, 'apt-get', 'install', 'fio'))
        self.assertTrue(
            called(calls, 'apt-get', 'install', 'prometheus-node-exporter'))
        self.assertTrue(called(calls, 'pip install', '-e',
                               'serifos[model,report]'))
        self.assertTrue(called(calls, 'start', 'prometheus-node-exporter'))

    def test_balancer_runs_with_what_serifos_conf_says(self):
        calls = self.run_phases(*UP)[1]
        self.assertIn(
            f'ExecStart = /venv/bin/serifos-balancer --config-file '
            f'{self.stack.serifos_conf} run', self.stack.unit.read_text())
        self.assertTrue(
            called(calls, 'systemctl start devstack@serifos-balancer'))
        found = conf.load([str(self.stack.serifos_conf)])
        self.assertEqual('advise', found.balancer.mode)
        self.assertEqual(str(self.stack.state_dir), found.serifos.state_dir)
        self.assertEqual(str(self.stack.state_dir / 'models'),
                         found.serifos.models_dir)
        self.assertEqual(
            {os.uname().nodename: 'http://localhost:9100/metrics'},
            found.telemetry.endpoints)

    def test_balancer_is_an_administrator(self):
        calls = self.run_phases(*UP)[1]
        self.assertTrue(called(calls, 'openstack', 'user create', 'serifos'))
        self.assertTrue(called(calls, 'openstack', 'role add', 'admin',
                               '--user serifos'))
        found = conf.load([str(self.stack.serifos_conf)])
        plugin = loading.load_auth_from_conf_options(found, 'cinder')
        self.assertEqual('http://10.0.0.1/identity', plugin.auth_url)
        self.assertEqual(
            'service', plugin.get_cache_id_elements()['project_name'])
        for group in found.cinder, found.nova:
            self.assertEqual('RegionOne', group.region_name)
            self.assertEqual(['public'], group.valid_interfaces)
        self.assertIsNone(found.cinder.cafile)

    def test_tls_is_trusted_where_devstack_has_it(self):
        self.run_phases(*UP, services='key,c-api,c-sch,tls-proxy')
        found = conf.load([str(self.stack.serifos_conf)])
        self.assertEqual(f'{self.stack.home}/ca-bundle.pem',
                         found.cinder.cafile)

    def test_secrets_are_for_the_group_only(self):
        self.run_phases(*UP)
        self.assertIn('password = secret',
                      self.stack.serifos_conf.read_text())
        mode = stat.S_IMODE(self.stack.serifos_conf.stat().st_mode)
        self.assertEqual(0o640, mode)
        mode = stat.S_IMODE(self.stack.state_dir.stat().st_mode)
        self.assertEqual(0o2750, mode)

    def test_cinder_places_by_the_driver(self):
        self.run_phases(*UP)
        found = self.cinder()
        self.assertEqual('serifos.scheduler.driver.SerifosScheduler',
                         found.scheduler_driver)
        self.assertEqual(str(self.stack.state_dir), found.serifos.state_dir)
        self.assertEqual(str(self.stack.state_dir / 'models'),
                         found.serifos.models_dir)

    def test_cinder_places_by_the_weigher(self):
        self.run_phases(*UP, SERIFOS_SCHEDULER='weigher',
                        SERIFOS_FILTER='True')
        found = self.cinder()
        self.assertIsNone(found.scheduler_driver)
        self.assertEqual(
            ['CapacityWeigher', 'AllocatedCapacityWeigher', 'SerifosWeigher'],
            found.scheduler_default_weighers)
        self.assertEqual(
            ['AvailabilityZoneFilter', 'CapacityFilter',
             'CapabilitiesFilter', 'SerifosFilter'],
            found.scheduler_default_filters)

    def test_placing_can_be_left_alone(self):
        self.run_phases(*UP, SERIFOS_SCHEDULER='none')
        found = self.cinder()
        self.assertIsNone(found.scheduler_driver)
        self.assertEqual(['CapacityWeigher', 'AllocatedCapacityWeigher'],
                         found.scheduler_default_weighers)

    def test_backends_name_their_models(self):
        output = self.run_phases(*UP, **VARIABLES)[0]
        found = self.cinder('lvmdriver-1', 'lvmdriver-2')
        self.assertEqual(
            {'rack': 'r1', 'serifos_model': 'intel-s3500'},
            json.loads(found['lvmdriver-1'].extra_capabilities))
        self.assertEqual(
            {'serifos_model': 'home-made'},
            json.loads(found['lvmdriver-2'].extra_capabilities))
        self.assertEqual(
            ['intel-s3500.json'],
            [path.name for path in self.stack.state_dir.glob('models/*')])
        self.assertIn('still lacks the model home-made.json', output)

    def test_a_model_of_ones_own_stays(self):
        mine = self.stack.state_dir / 'models' / 'intel-s3500.json'
        mine.parent.mkdir(parents=True)
        mine.write_text('mine')
        self.run_phases(*UP, **VARIABLES)
        self.assertEqual('mine', mine.read_text())

    @ddt.data('driver', 'weigher')
    def test_twice_is_as_once(self, scheduler):
        variables = dict(VARIABLES, SERIFOS_SCHEDULER=scheduler,
                         SERIFOS_FILTER='True')
        self.run_phases(*UP, **variables)
        once = {path: path.read_text() for path in
                (*self.stack.left(), self.stack.cinder_conf)}
        self.run_phases(*UP, **variables)
        self.assertEqual(once, {
            path: path.read_text() for path in
            (*self.stack.left(), self.stack.cinder_conf)})

    def test_unstack_stops_the_balancer_and_keeps_the_rest(self):
        self.run_phases(*UP)
        before = self.stack.left()
        calls = self.run_phases('unstack')[1]
        self.assertTrue(
            called(calls, 'systemctl stop devstack@serifos-balancer'))
        self.assertTrue(
            called(calls, 'systemctl disable devstack@serifos-balancer'))
        self.assertEqual(before, self.stack.left())

    @ddt.data({}, {'SERIFOS_SCHEDULER': 'weigher', 'SERIFOS_FILTER': 'True'},
              {'SERIFOS_SCHEDULER': 'none'})
    def test_clean_leaves_nothing(self, variables):
        self.run_phases(*UP, **VARIABLES, **variables)
        calls = self.run_phases('unstack', 'clean', 'clean')[1]
        self.assertEqual(lines(stack.CINDER_CONF),
                         lines(self.stack.cinder_conf.read_text()))
        # DevStack's clean.sh removes the units itself.
        self.assertEqual({self.stack.unit}, self.stack.left())
        self.assertTrue(called(calls, 'groupdel'))

    def test_clean_keeps_what_the_user_set_since(self):
        self.run_phases(*UP)
        other = self.stack.cinder_conf.read_text().replace(
            'serifos.scheduler.driver.SerifosScheduler', 'my.Scheduler')
        self.stack.cinder_conf.write_text(other)
        self.run_phases('clean')
        self.assertEqual('my.Scheduler', self.cinder().scheduler_driver)

    def test_a_disabled_plugin_does_nothing(self):
        output, calls = self.run_phases(
            *UP, 'unstack', 'clean', DISABLED_SERVICES='serifos')
        self.assertEqual([], calls)
        self.assertEqual(set(), self.stack.left())
        self.assertEqual(stack.CINDER_CONF,
                         self.stack.cinder_conf.read_text())

    def test_a_storage_host_runs_no_balancer(self):
        calls = self.run_phases(
            *UP, services='c-vol', DISABLED_SERVICES='serifos-balancer',
            **VARIABLES)[1]
        self.assertFalse(called(calls, 'openstack'))
        self.assertFalse(called(calls, 'serifos-balancer'))
        self.assertTrue(called(calls, 'start', 'prometheus-node-exporter'))
        self.assertIn('intel-s3500', self.stack.cinder_conf.read_text())

    def test_no_node_exporter_where_another_brings_one(self):
        calls = self.run_phases(*UP, SERIFOS_NODE_EXPORTER='')[1]
        self.assertFalse(called(calls, 'node-exporter'))

    @ddt.data(('SERIFOS_SCHEDULER', 'both'), ('SERIFOS_MODE', 'automatic'),
              ('SERIFOS_BACKEND_MODELS', 'nfs-1:intel-s3500'),
              ('SERIFOS_BACKEND_MODELS', 'lvmdriver-9:intel-s3500'),
              ('SERIFOS_BACKEND_MODELS', 'lvmdriver-1'),
              ('SERIFOS_BACKEND_MODELS', 'lvmdriver-1:'))
    @ddt.unpack
    def test_absurd_settings_stop_stacking_at_once(self, name, value):
        output = self.refused(**{name: value})
        self.assertIn(name, output)
        self.assertIn(f"'{value}'", output)


if 'DEVSTACK_DIR' in os.environ:
    class RealDevStackTest(PluginTest):

        DEVSTACK = pathlib.Path(os.environ['DEVSTACK_DIR'])
