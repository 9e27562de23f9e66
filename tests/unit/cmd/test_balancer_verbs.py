# SPDX-License-Identifier: Apache-2.0
"""The verbs that act, on a simulated cloud: output and exit codes."""

import contextlib
import dataclasses
import io
import json
import signal
import time

import ddt
import fixtures

from serifos.cmd import app
from serifos.cmd.balancer import apply as balancer_apply
from serifos.cmd.balancer import history as balancer_history
from serifos.cmd.balancer import recover
from serifos.cmd.balancer import run as balancer_run
from serifos.cmd.balancer import status as balancer_status
from serifos.cmd.balancer import stored_history
from serifos.facts import activity
from serifos.plan.slots import Demand
from tests.fakes import history
from tests.unit.balancer import cloud
from tests.unit.balancer.cloud import A
from tests.unit.balancer.cloud import B
from tests.unit.balancer.cloud import busy
from tests.unit.balancer.cloud import C
from tests.unit.balancer.cloud import record


class Case(cloud.Case):

    history = None

    def setUp(self):
        super().setUp()
        self.set(timeouts=dataclasses.replace(
            self.settings.timeouts, poll_s=1.0))
        conf = self.settings.state_dir / 'serifos.conf'
        conf.write_text(f'[serifos]\nstate_dir = {self.settings.state_dir}\n'
                        f'models_dir = {self.settings.models_dir}\n')
        self.app = app.App('serifos-balancer', '')
        self.app.options = self.app.parser.parse_args(
            ['--config-file', str(conf)])

    def verb(self, kind, *argv, typed='', stopped_in=None):
        """(exit code, stdout, stderr) of a verb, before our cloud.

        :param stopped_in: the step in which SIGINT comes
        """
        case = self

        class Verb(kind):
            def balancer(self, pause=None, window_s=None):
                def paused(seconds):
                    return case.pause(seconds) or bool(pause and pause(0))
                return case.made(paused, history=case.history)

            def gather(self, balancer):
                if stopped_in == 'gather':
                    signal.raise_signal(signal.SIGINT)

            def confirm(self, question, parsed_args):
                if stopped_in == 'confirm':
                    signal.raise_signal(signal.SIGINT)
                super().confirm(question, parsed_args)

        verb = Verb(self.app, None)
        self.useFixture(fixtures.MonkeyPatch('sys.stdin',
                                             io.StringIO(typed)))
        with contextlib.redirect_stdout(io.StringIO()) as out, \
                contextlib.redirect_stderr(io.StringIO()) as err:
            arguments = verb.get_parser('x').parse_args(list(argv))
            code = verb.run(arguments)
        return code, out.getvalue(), err.getvalue()

    def planned(self):
        self.set(auto=False)
        plan = self.balancer.round()
        self.set(auto=True)
        return plan.id


@ddt.ddt
class ApplyTest(Case):

    def test_a_plan_is_shown_confirmed_and_carried_out(self):
        code, out, err = self.verb(
            balancer_apply.Apply, self.planned(), typed='yes\n')
        self.assertEqual(0, code, err)
        self.assertIn('u       a     b  ', out)
        self.assertIn('1 of 1 moves are carried out.', out)
        self.assertEqual(B, self.homes()['u'])

    def test_pools_that_do_not_fit_their_models(self):
        plan = self.planned()
        self.cinder.workloads = {'u': busy(64, 9000), 'v': busy(32, 9000)}
        code, out, _ = self.verb(balancer_apply.Apply, plan, '--yes')
        self.assertEqual(6, code)
        self.assertTrue(out.startswith(
            '1 of 3 pools does not fit its model: rebuild or refine before '
            'you move anything (a: '), out)
        self.assertEqual(B, self.homes()['u'])

    @ddt.data('no\n', '', '\n')
    def test_without_a_yes_nothing_moves(self, typed):
        code, _, err = self.verb(
            balancer_apply.Apply, self.planned(), typed=typed)
        self.assertEqual(2, code)
        self.assertIn('type yes to continue', err)
        self.assertEqual([], self.cinder.asked)

    def test_a_plan_that_expired(self):
        plan = self.planned()
        self.plans.keep(dataclasses.replace(
            self.plans.stored(plan), expires_at=1577836800.0, moves=()),
            self.now, self.fail)
        code, _, err = self.verb(balancer_apply.Apply, plan, '--yes')
        self.assertEqual(2, code)
        self.assertIn('expired at 2020-01-01T00:00:00Z', err)

    def test_a_plan_that_is_not_there(self):
        code, _, err = self.verb(balancer_apply.Apply, 'nothing')
        self.assertEqual(2, code)
        self.assertIn('There is no plan nothing', err)

    def test_what_has_changed_since_stays(self):
        plan = self.planned()
        self.cinder.migrate('u', C)
        self.now += 100
        code, out, _ = self.verb(balancer_apply.Apply, plan, '--yes')
        self.assertEqual(0, code)
        self.assertIn(f'u stays: it is on {C} now', out)
        self.assertIn('No move of this plan is left', out)

    def test_moves_that_fit_alone_but_not_together(self):
        self.cinder = self.cloud(
            [record(name, size_gib=30.0) for name in 'stuv']
            + [record('w', B)],
            {name: cloud.busy(64) for name in 'stuv'}, (A, B))
        plan = self.planned()
        self.cinder.add(record('x', B, size_gib=60.0))
        code, out, _ = self.verb(balancer_apply.Apply, plan, '--yes')
        self.assertIn(f'{B} has 9 GiB free, 30 needed', out)
        self.assertEqual(1, len(self.cinder.asked))

    def test_a_pool_that_max_fill_has_closed_since(self):
        plan = self.planned()
        self.cinder.add(record('x', B, size_gib=59.0))
        self.set(limits=dataclasses.replace(
            self.settings.limits, max_fill=0.6))
        code, out, _ = self.verb(balancer_apply.Apply, plan, '--yes')
        self.assertIn(f'u stays: {B} has 0 GiB free below max_fill 60 %, '
                      '1 needed', out)
        self.assertEqual([], self.cinder.asked)

    @ddt.data(({'frozen': True}, 'frozen'), ({'enabled': False}, 'disabled'))
    @ddt.unpack
    def test_a_pool_that_is_not_up_is_not_called_full(self, change, state):
        # Cinder's scheduler does not list such a pool any more.
        plan = self.planned()
        self.cinder.serve(B, **change)
        code, out, _ = self.verb(balancer_apply.Apply, plan, '--yes')
        self.assertIn(f'u stays: {B} is {state}\n', out)
        self.assertEqual([], self.cinder.asked)

    def test_a_pool_with_unknown_space_is_not_called_full(self):
        plan = self.planned()
        self.cinder.pools[B].capabilities['free_capacity_gb'] = 'unknown'
        self.cinder.pools[B] = dataclasses.replace(
            self.cinder.pools[B], total_gib=1.0)
        code, out, _ = self.verb(balancer_apply.Apply, plan, '--yes')
        self.assertIn(f'u stays: the free space of {B} is not known: Cinder '
                      'reports it as unknown', out)

    def chain(self):
        """A plan that moves w to a, which u and then t have left."""
        self.cinder.add(record('t', C))
        plan = self.planned()
        first, = self.plans.stored(plan).moves
        later = [dataclasses.replace(
            first, volume=volume, source=source, target=target)
            for volume, source, target in (('t', C, A), ('w', B, C))]
        self.plans.keep(dataclasses.replace(
            self.plans.stored(plan), moves=(first, *later)), self.now,
            self.fail)
        return plan

    def test_what_counts_on_a_move_that_failed_is_not_started(self):
        plan = self.chain()
        self.cinder.faults['u'] = 'error'
        code, out, _ = self.verb(balancer_apply.Apply, plan, '--yes')
        self.assertEqual(1, code)
        self.assertIn(
            f'not started: volume u was to leave {A} first, and stays', out)
        self.assertIn(
            f'not started: volume t was to leave {C} first, and stays', out)
        self.assertIn('0 of 3 moves', out)
        self.assertEqual([('u', B)], self.cinder.asked)

    def test_what_counts_on_a_move_that_is_left_out_is_left_out(self):
        plan = self.chain()
        self.cinder.change('u', metadata={'serifos:pin': 'yes'})
        code, out, _ = self.verb(balancer_apply.Apply, plan, '--yes')
        self.assertIn(
            f't stays: volume u was to leave {A} first, and stays', out)
        self.assertIn('No move of this plan is left', out)

    def test_what_counts_on_a_move_that_was_made_is_made(self):
        plan = self.chain()
        self.cinder.migrate('u', B)
        self.now += 100
        code, out, _ = self.verb(balancer_apply.Apply, plan, '--yes')
        self.assertEqual(0, code)
        self.assertIn('2 of 2 moves', out)

    def test_what_was_attached_meanwhile_is_not_touched(self):
        plan = self.planned()
        volume = self.cinder.volume
        self.cinder.volume = lambda name: dataclasses.replace(
            volume(name), status='in-use', attachments=('s',))
        code, out, _ = self.verb(balancer_apply.Apply, plan, '--yes')
        self.assertEqual(1, code)
        self.assertIn('not started: attached', out)
        self.assertEqual([], self.cinder.asked)

    def test_not_while_somebody_migrates(self):
        plan = self.planned()
        self.cinder.migrate('w', C)
        code, _, err = self.verb(balancer_apply.Apply, plan, '--yes')
        self.assertEqual(2, code)
        self.assertIn('Nothing is moved: Volume w', err)

    def test_a_failure_is_an_exit_code(self):
        plan = self.planned()
        self.cinder.faults['u'] = 'error'
        code, out, _ = self.verb(balancer_apply.Apply, plan, '--yes')
        self.assertEqual(1, code)
        self.assertIn('error: Cinder reports an error', out)
        self.assertIn('0 of 1 moves', out)

    def test_after_a_stop_no_other_move_is_asked_for(self):
        self.cinder = self.cloud(
            [record(name) for name in 'stuv'],
            {name: cloud.busy(64) for name in 'stuv'})
        plan = self.planned()
        self.stop_after = 3
        self.verb(balancer_apply.Apply, plan, '--yes')
        self.assertEqual(1, len(self.cinder.asked))

    @ddt.data('gather', 'confirm')
    def test_a_stop_before_the_first_move(self, where):
        plan = self.planned()
        code, _, err = self.verb(balancer_apply.Apply, plan, '--yes',
                                 stopped_in=where)
        self.assertEqual(130, code, err)
        self.assertIn('nothing more was requested from Cinder', err)
        self.assertEqual([], self.cinder.asked)

    def test_a_stop_just_before_a_move_is_asked_for(self):
        plan = self.planned()
        observe = self.cinder.observe

        def stopped(*args):
            self.stop_after = 0
            return observe(*args)
        self.cinder.observe = stopped
        code, out, err = self.verb(balancer_apply.Apply, plan, '--yes')
        self.assertEqual(130, code, err)
        self.assertIn('stopped: interrupted before it was requested', out)
        self.assertEqual([], self.cinder.asked)
        self.assertEqual([], self.kinds())

    def test_a_stop_says_how_to_go_on(self):
        plan = self.planned()
        self.stop_after = 3
        code, _, err = self.verb(balancer_apply.Apply, plan, '--yes')
        self.assertEqual(130, code)
        self.assertIn('the same command again', err)


class EvacuateTest(Case):

    def test_a_pool_is_emptied(self):
        code, out, err = self.verb(balancer_apply.Evacuate, 'a', '--yes')
        self.assertEqual(0, code, err)
        self.assertNotIn(A, self.homes().values())
        self.assertIn('2 GiB copied by 2 moves', ' '.join(out.split()))
        self.assertIn('2 of 2 moves are carried out.', out)

    def test_what_stays_is_an_exit_code(self):
        self.cinder = self.cloud(
            [record('u'), record('v', snapshots=1)], {})
        code, out, err = self.verb(balancer_apply.Evacuate, A, '--yes')
        self.assertEqual(1, code)
        self.assertIn('v stays: a snapshot holds it', out)
        self.assertIn('snapshots hold it  ', out)
        self.assertIn(f'{A} keeps 1 of its volumes', err)
        self.assertEqual({'u': B, 'v': A}, self.homes())

    def test_a_pool_that_nothing_can_leave(self):
        self.cinder = self.cloud([record('v', snapshots=1)], {})
        code, out, _ = self.verb(balancer_apply.Evacuate, A, '--yes')
        self.assertEqual(1, code)
        self.assertTrue(out.startswith(
            '1 volume cannot be moved, for the reasons below.\n'), out)
        code, out, _ = self.verb(balancer_apply.Evacuate, C, '--yes')
        self.assertEqual(0, code)
        self.assertTrue(out.startswith('There is nothing to move.\n'), out)

    def test_onto_the_only_pool_that_is_left(self):
        self.cinder = self.cloud([record('u')], {'u': cloud.busy(64)}, (A, B))
        self.cinder.serve(A, enabled=False)
        code, _, err = self.verb(balancer_apply.Evacuate, A, '--yes')
        self.assertEqual(0, code, err)
        self.assertEqual({'u': B}, self.homes())

    def test_volumes_go_where_it_is_quiet_over_days(self):
        """The second pool is idle now, the third one is over days."""
        self.cinder = self.cloud(
            [record('u'), record('w', B), record('x', C)],
            {'u': cloud.busy(64), 'x': cloud.busy(64)})
        self.history = history.EveryDay({
            volume: [(rate, 0.0, 65536 * rate, 0.0, 0.01 * rate, 0.0)] * 24
            for volume, rate in (('u', 100.0), ('w', 900.0), ('x', 0.1))})
        self.set(history_s=86400.0, demand=Demand(busy=True))
        code, out, err = self.verb(balancer_apply.Evacuate, A, '--yes')
        self.assertEqual(0, code, err)
        self.assertEqual({'u': C, 'w': B, 'x': C}, self.homes())
        self.assertIn('Judged by the last 24 hours', out)

    def test_a_cool_down_does_not_hold_it(self):
        self.balancer.round()
        home = self.homes()['u']
        code, _, err = self.verb(balancer_apply.Evacuate, home, '--yes')
        self.assertEqual(0, code, err)
        self.assertNotIn(home, self.homes().values())

    def test_a_pool_that_is_not_there_is_refused_before_readings(self):
        code, _, err = self.verb(balancer_apply.Evacuate, 'x@y#z',
                                 stopped_in='gather')
        self.assertEqual(2, code)
        self.assertIn('no pool x@y#z', err)


class HistoryTest(Case):

    def test_it_tells_what_became_of_a_move(self):
        self.balancer.round()
        code, out, _ = self.verb(balancer_history.History)
        self.assertEqual(0, code)
        request, accepted, outcome = out.splitlines()
        self.assertIn('request   u  a → b, 1 GiB, '
                      'estimated 10 s, plan', request)
        self.assertRegex(outcome, (
            r'outcome   u  success after [\d.]+ s: .*, copied in [\d.]+ s, '
            r'estimated 10 s, [\d.]+ MiB/s$'))
        _, out, _ = self.verb(balancer_history.History, '-f', 'json')
        self.assertEqual(['request', 'accepted', 'outcome'],
                         [entry['kind'] for entry in json.loads(out)])
        _, out, _ = self.verb(balancer_history.History, '--volume', 'v')
        self.assertIn('No migration was requested', out)

    def test_volumes_have_names_and_ids(self):
        self.cinder = self.cloud(
            [dataclasses.replace(record('u'), name='web')],
            {'u': cloud.busy(64)})
        self.balancer.observer.observe()
        self.journal().write('accepted', volume='u')
        for given in (), ('--volume', 'web'), ('--volume', 'u'):
            _, out, _ = self.verb(balancer_history.History, *given)
            self.assertIn('  accepted  web (u)', out)

    def test_it_tells_what_a_move_achieved(self):
        self.journal().write('achieved', volume='u', source=A, target=B,
                             hours=3, target_us=700.0,
                             predicted_target_us=640.0)
        _, out, _ = self.verb(balancer_history.History)
        self.assertTrue(out.endswith(
            '  achieved  u  in 3 h after it b had 0.7 ms (0.64 '
            'predicted)\n'), out)

    def test_resume(self):
        code, out, _ = self.verb(recover.Resume)
        self.assertIn('is not paused', out)
        self.balancer.observer.journal.write('pause', reason='3 failures')
        code, out, _ = self.verb(recover.Resume)
        self.assertEqual(0, code)
        self.assertEqual('resume', self.kinds()[-1])

    def test_recover_asks_and_recovers(self):
        self.cinder.faults['u'] = 'killed'
        self.balancer.round()
        self.cinder.started[A] = self.now
        code, _, err = self.verb(recover.Recover, 'u')
        self.assertEqual((2, 'migrating'), (
            code, self.cinder.volume('u').migration_status), err)
        self.cinder.faults.clear()
        code, out, err = self.verb(recover.Recover, 'u', '--yes')
        self.assertEqual(0, code, err)
        self.assertIn('Cinder knows of no copy of it', out)
        self.assertEqual('available', self.cinder.volume('u').status)

    def test_recover_leaves_alone_what_may_run(self):
        self.cinder.faults['u'] = 'killed'
        self.balancer.round()
        code, out, _ = self.verb(recover.Recover, 'u', '--yes')
        self.assertEqual(2, code)
        self.assertIn('may still run', out)


class RunTest(Case):

    def test_observe_shows_pools_and_activity(self):
        code, out, _ = self.verb(balancer_run.Observe)
        self.assertEqual(0, code)
        self.assertIn('a     up     flat         2', out)
        self.assertIn('1 more are idle, 0 without telemetry.', out)

    def test_once_names_the_plan(self):
        code, out, err = self.verb(balancer_run.Run, '--once')
        self.assertEqual(0, code, err)
        self.assertIn('The plan is ', out)

    def test_once_without_a_plan_is_an_exit_code(self):
        self.cinder.migrate('w', C)
        code, _, err = self.verb(balancer_run.Run, '--once')
        self.assertEqual(1, code)
        self.assertIn('no plan was made', err)

    def maker(self, **others):
        """What makes the balancer of each round of our cloud."""
        case = self

        class Verb(balancer_run.Run):
            def balancer(self, pause=None, window_s=None):
                return case.made(pause, **others)

        return Verb(self.app, None).maker(None)

    def test_a_past_that_takes_long_to_read_is_read_once(self):
        """Round after round, unless the source is another one."""
        past = self.cinder.history = history.EveryDay({})
        make = self.maker(history=past)
        end = time.time() // 3600 * 3600 - 3600
        place = activity.MeasuredVolume('u', 'u', A)
        for interval, asked in (15, 1), (15, 1), (30, 2), (30, 2):
            self.app.conf.set_override('interval', interval, 'telemetry')
            make(self.pause).history.read([place], end - 86400, end, 3600)
            self.assertEqual(asked, len(past.asked))

    def test_a_database_is_read_anew(self):
        store = stored_history.store(self.app.conf)
        self.assertIs(store, self.maker(history=store)(self.pause).history)


@ddt.ddt
class ReapplyTest(Case):
    """Volume u, in use, was renamed, pinned and extended in its copy."""

    PIN = 'serifos:pin'

    def setUp(self):
        super().setUp()
        self.set(allow_attached=True)
        self.cinder = self.cloud([
            record('u', status='in-use', attachments=('s',)), record('v')])
        self.cinder.change('u', name='old')
        self.tenant = ({'name': 'new'}, {self.PIN: 'yes'}), 2.0
        self.useFixture(fixtures.MonkeyPatch(
            'serifos.cmd.balancer.adapters.cinder', lambda *_: self.cinder))

    def pause(self, seconds):
        stopped = super().pause(seconds)
        if self.tenant and self.slept >= 5:
            (labels, size_gib), self.tenant = self.tenant, None
            if labels:
                self.cinder.relabel('u', *labels)
            self.cinder.extend('u', size_gib)
        return stopped

    def apply(self):
        self.plan = self.planned()
        return self.verb(balancer_apply.Apply, self.plan, '--yes')

    def reapply(self, *argv, **others):
        return self.verb(recover.Reapply, 'u', *argv, **others)

    def show(self, kind, *argv):
        return self.verb(kind, *argv)[1]

    def test_apply_history_and_show_tell_it(self):
        commands = [
            f'openstack volume set --name new --property {self.PIN}=yes u',
            'cinder-manage quota sync --project-id p',
            'openstack --os-volume-api-version 3.42 volume set --size 2 u']
        code, out, _ = self.apply()
        self.assertEqual(1, code)
        self.assertIn('changes lost: it is on', out)
        self.assertIn('1 of 1 moves are carried out.', out)
        for said in (out, self.show(balancer_history.History),
                     self.show(balancer_status.Show, self.plan)):
            self.assertIn("name 'old' -> 'new'", ' '.join(said.split()))
            for command in commands:
                self.assertIn(f'    {command}\n', said)
        doc = json.loads(self.show(
            balancer_status.Show, self.plan, '-f', 'json'))
        self.assertEqual(commands, doc['outcomes']['u']['restore'])
        self.assertEqual('carried out', doc['state'])

    def test_after_a_yes_it_is_set_but_for_the_size(self):
        self.apply()
        code, out, err = self.reapply(typed='yes\n')
        self.assertEqual(0, code, err)
        self.assertIn('To be done by hand: size 1 -> 2 GiB.', out)
        volume = self.cinder.volume('u')
        self.assertEqual(('new', {self.PIN: 'yes'}, 1.0), (
            volume.name, volume.metadata, volume.size_gib))
        code, _, err = self.reapply('--yes')
        self.assertEqual(2, code)
        self.assertIn('knows of no change of volume u', err)

    def test_without_a_yes_nothing_is_set(self):
        self.apply()
        code, out, err = self.reapply(typed='no\n')
        self.assertEqual(2, code)
        self.assertIn('openstack volume set --name new', out)
        self.assertEqual('old', self.cinder.volume('u').name)

    def test_what_its_tenant_has_changed_since_stays(self):
        self.apply()
        self.cinder.relabel('u', {'name': 'newest'}, {})
        self.assertEqual(0, self.reapply('--yes')[0])
        volume = self.cinder.volume('u')
        self.assertEqual(('newest', {self.PIN: 'yes'}),
                         (volume.name, volume.metadata))

    def test_where_the_account_may_not(self):
        self.apply()
        self.cinder.faults['u'] = 'denied'
        code, out, err = self.reapply('--yes')
        self.assertEqual(5, code)
        self.assertIn('denies access', err)
        self.assertIn('openstack volume set --name new', out)

    def test_an_extension_is_left_to_a_person(self):
        self.tenant = None, 2.0
        self.apply()
        code, out, err = self.reapply('--yes')
        self.assertEqual(2, code)
        self.assertIn('volume set --size 2 u', out)
        self.assertIn('run these commands by hand', err)
        self.assertEqual(1.0, self.cinder.volume('u').size_gib)

    def test_not_as_it_is_migrated_again(self):
        self.apply()
        self.cinder.migrate('u', A)
        code, _, err = self.reapply('--yes')
        self.assertEqual(2, code)
        self.assertIn('is being migrated', err)

    def test_a_volume_that_is_not_there(self):
        self.cinder.forget('u')
        code, _, err = self.reapply('--yes')
        self.assertEqual((2, True), (code, 'has no volume u' in err))
