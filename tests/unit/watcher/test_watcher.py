# SPDX-License-Identifier: Apache-2.0
"""The strategy and the action inside Watcher itself."""

import dataclasses
import datetime
import json
import logging
import pathlib

import ddt
import fixtures

from tests.unit.watcher import engine  # first: it skips without Watcher

import jsonschema
from watcher.common import exception

from serifos.database import connection
from serifos.database import plans
from tests.unit.cmd import command
from tests.unit.cmd import days

EXAMPLES = pathlib.Path(__file__).parents[3] / 'etc/serifos/examples/paper'

CONF = """\
[serifos]
state_dir = {directory}
models_dir = {models}
[cinder]
noauth_endpoint = http://127.0.0.1:9/v3
noauth_project_id = 00000000000000000000000000000000
[telemetry]
source = scrape
endpoints = http://127.0.0.1:9/metrics
"""


@ddt.ddt
class WatcherTest(days.DaysCase):

    def setUp(self):
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger(level=logging.INFO))
        self.models = self.dir / 'models'
        self.models.mkdir()
        for path in (EXAMPLES / 'models').iterdir():
            (self.models / path.name).write_text(path.read_text())
        (self.models / 'quickstart.json').write_text(
            (self.models / 'intel-s3610.json').read_text())
        self.observe(age_s=0)
        self.configure()

    @property
    def stored(self):
        return plans.Plans(connection.Database(
            f'sqlite:///{self.dir}/journal.sqlite'))

    def configure(self, *lines):
        self.watcher = engine.Engine('\n'.join((CONF.format(
            directory=self.dir, models=self.models), *lines)))

    def observe(self, age_s, **of_volumes):
        doc = json.loads((EXAMPLES / 'cluster.json').read_text())
        at = datetime.datetime.now(datetime.UTC) - datetime.timedelta(
            seconds=age_s)
        self.at = at.timestamp()
        doc['observed_at'] = at.strftime('%Y-%m-%dT%H:%M:%SZ')
        for volume in doc['volumes']:
            volume.update(of_volumes)
        (self.dir / 'cluster.json').write_text(json.dumps(doc))

    def plan(self, **parameters):
        audit = self.watcher.audit(parameters)
        self.assertEqual('SUCCEEDED', audit.state, self.log.output)
        return self.watcher.plan(audit)

    @ddt.data('relieve', 'bfd')
    def test_the_actions_are_the_moves_of_plan_in_their_order(self, planner):
        plan = self.plan(planner=planner)
        self.assertEqual('RECOMMENDED', plan.state)
        code, out, err = command.balance(
            '--config-file', self.watcher.serifos_conf, 'plan',
            '--planner', planner, '-f', 'json')
        self.assertEqual(0, code, err)
        wanted = json.loads(out)
        self.assertNotEqual([], wanted['moves'])
        actions = self.watcher.actions(plan)
        self.assertEqual(
            [(move['volume'], move['from'], move['to'])
             for move in wanted['moves']],
            [tuple(action.input_parameters[name] for name in (
                'resource_id', 'source_pool', 'destination_pool'))
             for action in actions])
        self.assertEqual({'serifos_migrate'},
                         {action.action_type for action in actions})
        reduction, = plan.global_efficacy
        self.assertEqual('%', reduction['unit'])
        self.assertAlmostEqual(
            100 * (1 - wanted['max_us']['after'] / wanted['max_us']['before']),
            reduction['value'])

        kept = self.stored.stored(actions[0].input_parameters['plan'])
        self.assertEqual(len(actions), len(kept.moves))
        for action in actions:
            self.watcher.loaded(action).pre_condition()

    @ddt.data(None, 'some day')
    def test_an_observation_of_an_unknown_time(self, said):
        doc = json.loads((self.dir / 'cluster.json').read_text())
        doc['observed_at'] = said
        (self.dir / 'cluster.json').write_text(json.dumps(doc))
        self.assertEqual('FAILED', self.watcher.audit({}).state)
        self.assertIn('does not say of when it is', self.log.output)

    def test_parameters_bound_the_plan(self):
        self.assertEqual(1, len(self.watcher.actions(self.plan(
            planner='relieve', max_moves=1))))

    @ddt.data({}, {'planner': 'relieve'})
    def test_days_count_where_they_are_kept(self, parameters):
        """All was idle in the last day but what is on one pool."""
        self.keep(self.past(idle=[
            each['id'] for each in self.cluster['volumes']
            if not each['pool'].startswith('node3')]))
        self.configure('[balancer]', 'window = 86400', 'fix_at_once = false')
        actions = self.watcher.actions(self.plan(**parameters))
        self.assertEqual({'node3@ssd#ssd'}, {
            action.input_parameters['source_pool'] for action in actions})
        kept = self.stored.stored(actions[0].input_parameters['plan'])
        self.assertEqual(86400, kept.window_s)

    def test_a_plan_without_moves_is_done(self):
        self.observe(age_s=0, movable='it is in a group')
        plan = self.plan()
        self.assertEqual('SUCCEEDED', plan.state)
        self.assertEqual([], self.watcher.actions(plan))
        self.assertEqual([], self.stored.every(self.fail))

    @ddt.data({'min_gain': 2}, {'planner': 'none'}, {'max_moves': 0},
              {'other': 1}, {'max_moves': 10 ** 30},
              {'min_gain': float('nan')}, {'hot_ratio': float('nan')})
    def test_parameters_that_cannot_be_used(self, parameters):
        self.assertEqual('FAILED', self.watcher.audit(parameters).state)

    def test_an_old_observation_is_no_plan(self):
        self.observe(age_s=1000)
        self.assertEqual('FAILED', self.watcher.audit({}).state)
        self.assertIn('is serifos-balancer run up?', self.log.output)

    def test_a_scope_is_refused_not_ignored(self):
        audit = self.watcher.audit({}, [{'storage': [
            {'exclude': [{'volumes': [{'uuid': 'v'}]}]}]}])
        self.assertEqual('FAILED', audit.state)
        self.assertIn('knows no audit scope', self.log.output)

    def first(self, **changes):
        action = self.watcher.actions(self.plan(planner='relieve'))[0]
        action.input_parameters = action.input_parameters | changes
        return action

    def test_an_action_that_cannot_ask_cinder_fails(self):
        loaded = self.watcher.loaded(self.first())
        self.assertFalse(loaded.execute())
        self.assertIn(f'Volume {loaded.resource_id} stays: ',
                      self.log.output)
        self.assertTrue(loaded.revert())

    @ddt.data({'destination_pool': 'other@ssd#ssd'}, {'plan': 'none'},
              {'resource_id': 'other'})
    def test_an_action_of_no_plan(self, change):
        self.assertRaises(
            exception.ActionExecutionFailure,
            self.watcher.loaded(self.first(**change)).pre_condition)

    def test_an_action_of_a_newer_release(self):
        self.watcher.loaded(self.first(other=1)).pre_condition()

    @ddt.data({'plan': '../plan'}, {'resource_id': 'a/b'})
    def test_an_action_with_wrong_parameters(self, change):
        self.assertRaises(jsonschema.ValidationError, self.watcher.loaded,
                          self.first(**change))

    def test_an_action_whose_plan_has_expired(self):
        action = self.first()
        kept = self.stored.stored(action.input_parameters['plan'])
        self.stored.keep(dataclasses.replace(
            kept, expires_at=kept.created_at, moves=()), kept.created_at,
            self.fail)
        error = self.assertRaises(exception.ActionExecutionFailure,
                                  self.watcher.loaded(action).pre_condition)
        self.assertIn('expired', str(error))
