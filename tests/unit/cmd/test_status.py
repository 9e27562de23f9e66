# SPDX-License-Identifier: Apache-2.0
"""serifos-status upgrade check, before a simulated cloud."""

import dataclasses
import json
import time

import ddt
import fixtures

from serifos.cmd import status
from serifos import errors
from serifos.facts import activity
from serifos.facts.inventory import Type
from serifos.files import documents
from tests.unit.balancer import cloud
from tests.unit.cmd import command
from tests.unit.database import plans_behaviour

DRIVER = 'scheduler_driver = serifos.scheduler.driver.SerifosScheduler'


@ddt.ddt
class StatusTest(cloud.Case):

    def setUp(self):
        super().setUp()
        self.now = time.time()
        self.cinder_conf = self.dir / 'cinder.conf'
        self.scheduler(f'[DEFAULT]\n{DRIVER}\n')
        for name in 'cinder', 'telemetry':
            self.useFixture(fixtures.MonkeyPatch(
                f'serifos.cmd.balancer.adapters.{name}',
                lambda conf: self.cinder))
        self.balancer.observer.observe()

    def scheduler(self, text):
        self.cinder_conf.write_text(
            f'{text}[serifos]\nstate_dir = {self.dir}\n'
            f'models_dir = {self.dir}/models\n')

    def status(self, *arguments, conf='', cinder=()):
        """(exit code, stdout, stderr).

        :param cinder: what cinder-scheduler reads
        """
        path = self.dir / 'serifos.conf'
        path.write_text(f'[serifos]\nstate_dir = {self.dir}\n'
                        f'models_dir = {self.dir}/models\n{conf}',
                        errors='surrogateescape')
        with command.captured() as (out, err):
            code = status.main([
                '--config-file', str(path),
                *(f'--cinder-conf={each}'
                  for each in cinder or [self.cinder_conf]),
                'upgrade', 'check', *arguments])
        return code, out.getvalue(), err.getvalue()

    def checked(self, conf='', cinder=()):
        """Check → (result, details), of those that say something."""
        code, out, err = self.status('--json', conf=conf, cinder=cinder)
        self.assertEqual('', err)
        found = {check['check']: (check['result'], check['details'])
                 for check in json.loads(out)['checks']}
        self.assertEqual(code, max(result for result, _ in found.values()))
        return {check: (result, said)
                for check, (result, said) in found.items() if said}

    def test_all_is_well(self):
        code, out, err = self.status()
        self.assertEqual((0, ''), (code, err), out)
        self.assertEqual(11, out.count('Result: Success'))

    def test_each_finding_has_its_lines(self):
        self.cinder = self.cloud([], models={'a@ssd#ssd': None,
                                             'b@ssd#ssd': None})
        code, out, _ = self.status()
        self.assertEqual(1, code)
        self.assertIn('| Details: Pool a@ssd#ssd names no model', out)
        self.assertIn('| Pool b@ssd#ssd names no model', out)

    def test_what_is_missing_is_lines_to_paste(self):
        self.cinder = self.cloud([], models={'a@ssd#ssd': None})
        self.scheduler('[DEFAULT]\n')
        (self.dir / 'cluster.json').unlink()
        _, out, _ = self.status(conf='[telemetry]\nendpoints = '
                                'b:http://u:SECRET@b:9100/metrics\n')
        said = out.partition('What is missing')[2]
        self.assertNotIn('SECRET', said)
        for lines in (
                f'# {self.cinder_conf}, on this host; then restart '
                'cinder-scheduler\n[DEFAULT]\nscheduler_driver = '
                'serifos.scheduler.driver.SerifosScheduler\n',
                '# /etc/cinder/cinder.conf, on a; then restart cinder-volume\n'
                '[ssd]\nextra_capabilities = {"serifos_model": "MODEL"}\n',
                f'# {self.dir}/serifos.conf, on this host\n[telemetry]\n'
                'endpoints = a:http://a:9100/metrics, '
                'c:http://c:9100/metrics\n'):
            self.assertIn(lines, said)
        self.assertNotIn('serifos-balancer plan', said)
        _, out, _ = self.status(conf='[telemetry]\nendpoints = '
                                'a:http://a,b:http://b,c:http://c\n')
        self.assertIn('# in a shell of root, on this host\n'
                      'serifos-balancer observe --window 60\n'
                      'serifos-balancer plan\n',
                      out)
        self.assertNotIn('What is missing', self.status('--json')[1])

    def test_a_login_is_missing(self):
        def refuse():
            raise errors.InputError('serifos.conf does not say how.')

        self.cinder.inventory = refuse
        _, out, _ = self.status()
        self.assertIn('[cinder]\nauth_type = password\nauth_url = ', out)
        _, out, _ = self.status(conf='[cinder]\nauth_type = password\n')
        self.assertNotIn('[cinder]\n', out)

    def test_cinder_is_not_there(self):
        def refuse():
            raise errors.CloudError('Cinder does not answer: no route.')

        self.cinder.inventory = refuse
        found = self.checked()
        self.assertEqual((2, 'Cinder does not answer: no route.'),
                         found['Cinder'])
        for check in 'Clocks', 'Nova', 'Models', 'Devices', 'Telemetry':
            self.assertEqual((1, 'Not looked at: Cinder could not be asked, '
                              'see there.'), found[check])

    def test_a_setting_of_a_type_that_cannot_be_used(self):
        seen = self.cinder.inventory()
        self.cinder.inventory = lambda: dataclasses.replace(seen, types=(
            Type('gold', {'serifos:balance': 'maybe'}),))
        result, said = self.checked()['Cinder']
        self.assertEqual(1, result)
        self.assertIn("Of volume type gold, serifos:balance 'maybe' is "
                      'neither true nor false', said)

    def test_a_model_of_another_disk(self):
        documents.write_model(
            self.dir / 'models' / 'flat.json', dataclasses.replace(
                cloud.MODEL, device={'model': 'INTEL SSDSC2BX40'}))
        self.cinder.disks = lambda hosts: dict.fromkeys(
            hosts - {'b'}, (activity.Disk('Samsung_SSD_860_EVO'),))
        result, said = self.checked()['Devices']
        self.assertEqual((1, 2), (result, said.count(
            'but Samsung_SSD_860_EVO. Build a model')))
        self.assertIn('every disk of b, so whether', said)

    def test_no_observation(self):
        (self.dir / 'cluster.json').unlink()
        self.assertEqual({'Observation'}, set(self.checked()))

    def test_a_model_that_is_not_there(self):
        (self.dir / 'models' / 'flat.json').unlink()
        result, said = self.checked()['Models']
        self.assertEqual(2, result)
        self.assertIn('flat.json', said)
        self.assertIn('3 pools name it', said)

    def test_a_model_without_what_pools_are_compared_by(self):
        conf = '[balancer]\nhot_by = write_p99\n'
        result, said = self.checked(conf)['Models']
        self.assertEqual(1, result)
        self.assertIn('Model flat says nothing of write_p99_us', said)
        for quality, words in (
                ({'mre': 0.4}, 'In write_p99_us the model flat is only 40 % '
                 'off, by which'),
                ({'mre': 0.4, 'factor': 3.1}, 'is only within a factor of 3.1 '
                 'for 90 % of the runs, by which'),
                ({'mre': 0.4, 'factor': 1.4}, None), ({'mre': 0.1}, None)):
            documents.write_model(
                self.dir / 'models' / 'flat.json', dataclasses.replace(
                    cloud.MODEL, tails={'write_p99_us': dataclasses.replace(
                        cloud.MODEL, quality=quality)}))
            result, said = self.checked(conf).get('Models', (0, ''))
            self.assertEqual(1 if words else 0, result)
            self.assertIn(words or '', said)

    def test_many_findings(self):
        names = [f'h{i}@b#p' for i in range(30)]
        self.cinder = self.cloud([], names=names, models=dict.fromkeys(
            names[1:]))
        documents.write_model(self.dir / 'models' / 'flat.json', cloud.MODEL)
        _, said = self.checked()['Models']
        self.assertTrue(said.endswith('\n... and 9 more.'), said)

    @ddt.data(
        ('[DEFAULT]\n', 2, 'names no part of Serifos'),
        ('[DEFAULT]\nscheduler_default_weighers = SerifosWeigher,'
         'CapacityWeigher\n', 0, None),
        (f'[DEFAULT]\n{DRIVER}\nscheduler_default_weighers = '
         'SerifosWeigher\n', 1, 'take it out'),
        ('[DEFAULT]\nnonsense\n', 2, 'cannot be used'))
    @ddt.unpack
    def test_the_scheduler(self, text, result, said):
        self.scheduler(text)
        found = self.checked().get('Scheduler', (0, None))
        self.assertEqual(result, found[0], found)
        self.assertIn(said or '', found[1] or '')

    @ddt.data(
        f'[DEFAULT]\n{DRIVER}\nstate_path = DIR\n[serifos]\n'
        'state_dir = $state_path\nmodels_dir = ${state_path}/models\n',
        f'[DEFAULT]\n{DRIVER}\n[lvm]\nx = DIR\n[serifos]\n'
        'state_dir = ${lvm.x}\nmodels_dir = ${lvm.x}/models\n')
    def test_options_of_cinder_that_ours_refer_to(self, text):
        self.cinder_conf.write_text(text.replace('DIR', str(self.dir)))
        self.assertNotIn('Scheduler', self.checked())

    def test_files_and_directories_in_the_order_of_cinder(self):
        folder = self.dir / 'cinder.conf.d'
        folder.mkdir()
        (folder / 'b.conf').write_text('[serifos]\nmodels_dir = /other\n')
        last = self.dir / 'last.conf'
        last.write_text(f'[serifos]\nmodels_dir = {self.dir}/models\n')
        before = [self.cinder_conf, folder]
        self.assertIn('different models_dir in [serifos], /other',
                      self.checked(cinder=before)['Scheduler'][1])
        self.assertNotIn('Scheduler', self.checked(cinder=[*before, last]))

    @ddt.data(
        (b'# caf\xe9\n', 'not UTF-8 text'),
        (b'[serifos]\nstate_dir = $state_dir\n', 'refers to itself'),
        (b'[DEFAULT]\nconfig_file = $config_file\n', 'refers to itself'),
        (b'scheduler_driver = $scheduler_driver\n', 'refers to itself'),
        (b'[serifos]\nstate_dir = /a\0b\n', 'has a NUL byte'),
        (b'[serifos]\nstate_dir = /$no_such\n', 'no such option no_such'),
        (b'[serifos]\nnewcomer_iodepth = nan\n', 'not a finite number'))
    @ddt.unpack
    def test_what_cinder_could_not_read_stops_no_other_check(self, text, why):
        self.cinder_conf.write_bytes(f'[DEFAULT]\n{DRIVER}\n'.encode() + text)
        (self.dir / 'cluster.json').unlink()
        found = self.checked()
        self.assertEqual({'Scheduler', 'Observation'}, found.keys())
        self.assertEqual(2, found['Scheduler'][0])
        self.assertIn(why, found['Scheduler'][1])

    def test_options_that_nothing_reads(self):
        self.scheduler(f'[DEFAULT]\n{DRIVER}\n[serifos1]\nhost = x\n'
                       '[serfos]\nmetrics_dir = x\n'
                       '[Serifos]\nnewcomer_hits = no\n')
        found = self.checked('[balancer]\nmin_gian = 0.3\n')
        self.assertEqual((1, f'{self.dir}/serifos.conf: [balancer] min_gian '
                          'is not an option and has no effect; did you mean '
                          'min_gain?'), found['Options'])
        result, said = found['Scheduler']
        self.assertEqual((1, 2), (result, len(said.splitlines())))
        self.assertIn('did you mean [serifos]?', said)
        self.assertIn('did you mean newcomer_hints?', said)

    def test_two_directories(self):
        self.cinder_conf.write_text(f'[DEFAULT]\n{DRIVER}\n')
        result, said = self.checked()['Scheduler']
        self.assertEqual(2, result)
        self.assertIn(f'different state_dir in [serifos], /var/lib/serifos '
                      f'and {self.dir}', said)

    def test_an_observation_that_cinder_cannot_read(self):
        (self.dir / 'cluster.json').chmod(0o600)
        self.assertIn('chmod g+r', self.checked()['Scheduler'][1])

    def test_no_scheduler_here(self):
        self.cinder_conf.unlink()
        self.assertEqual({'Scheduler'}, set(self.checked()))
        self.assertEqual(0, self.checked()['Scheduler'][0])

    def test_a_plan_that_cannot_be_read_is_named(self):
        self.plans.keep(plans_behaviour.plan('one', self.now), self.now,
                        self.fail)
        plans_behaviour.break_row(self.shared, 'one', document=b'no')
        self.assertIn('The stored plan one cannot be read',
                      self.checked()['Databases'][1])

    def test_paused(self):
        self.journal().write('pause', reason='3 failures')
        self.assertIn('serifos-balancer resume',
                      self.checked()['Databases'][1])

    @ddt.data('[balancer]\nhold = x\n', '[balancer]\nhold = $hold\n',
              '[balancer]\nhold = \udce9\n', '[DEFAULT]\nlog_dir = $log_dir')
    def test_a_configuration_that_cannot_be_used(self, text):
        code, out, err = self.status(conf=text)
        self.assertEqual((255, ''), (code, out))
        self.assertRegex(err, r'hold|DEFAULT|not UTF-8')
        self.assertEqual(1, err.count('\n'), err)
