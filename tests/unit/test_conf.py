# SPDX-License-Identifier: Apache-2.0
"""A value that nothing can be done with is refused at start, by name."""

import itertools
import pathlib
import re

import ddt
import fixtures
from oslo_config import cfg
import testtools

from serifos import conf
from serifos.conf import files
from serifos import errors
from tests.unit.cmd import command

ROOT = pathlib.Path(__file__).parents[2]

EMPTY_IS_UNSET = {
    ('balancer', 'max_moves'), ('balancer', 'settle'),
    ('balancer', 'lock_url'),
    ('balancer', 'excluded_projects'), ('balancer', 'windows'),
    ('balancer', 'zones'),
    ('balancer', 'max_gib_per_hour'), ('balancer', 'max_gib_per_day'),
    ('balancer', 'max_gib_per_plan'),
    *(('telemetry', name) for name in (
        'endpoints', 'prometheus_hosts', 'prometheus_selector',
        'libvirt_prometheus_url', 'username',
        'password', 'cafile', 'certfile', 'keyfile'))}
"""What an empty value of these means, their help says."""

OURS = [(group.name, opt) for group, opts in conf.list_opts()
        for opt in opts if group.name in ('balancer', 'telemetry', 'serifos')]
NUMBERS = [(group.name, opt.dest) for group, opts in conf.list_opts()
           for opt in opts if isinstance(opt, (cfg.IntOpt, cfg.FloatOpt))]


class Case(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.dir = self.useFixture(fixtures.TempDir())
        self.file = self.dir.join('serifos.conf')

    def write(self, text):
        with open(self.file, 'w') as file:
            file.write(text)

    def load(self, text):
        self.write(text)
        return conf.load([self.file])

    def refusal(self, text):
        return str(self.assertRaises(errors.InputError, self.load, text))


@ddt.ddt
class LoadTest(Case):

    @ddt.data(*((group, opt.dest) for group, opt in OURS
                if (group, opt.dest) not in EMPTY_IS_UNSET))
    @ddt.unpack
    def test_an_option_left_empty(self, group, name):
        self.assertIn(f'[{group}] {name} ', self.refusal(
            f'[{group}]\n{name} =\n'))

    @ddt.data('   ', '""', "''", '" "')
    def test_blank_is_empty(self, value):
        self.assertIn('state_dir is left empty', self.refusal(
            f'[serifos]\nstate_dir = {value}\n'))

    @ddt.data(*sorted(EMPTY_IS_UNSET))
    @ddt.unpack
    def test_empty_is_unset(self, group, name):
        default, = (opt.default for its, opt in OURS
                    if (its, opt.dest) == (group, name))
        found = self.load(f'[{group}]\n{name} =\n')[group][name]
        self.assertIn(found, (default, ''))

    @ddt.data(*itertools.product(
        NUMBERS, ['nan', 'inf', '-1', '1e308', '9' * 30]))
    @ddt.unpack
    def test_no_number_to_work_with(self, option, value):
        group, name = option
        self.assertIn(f'[{group}] {name} ', self.refusal(
            f'[{group}]\n{name} = {value}\n'))

    @ddt.data(
        ('[balancer]\nmin_gain = inf', '[balancer] min_gain'),
        ('[telemetry]\ntimeout = 1e400', '[telemetry] timeout'),
        ('[balancer]\nbatch = ' + '9' * 5000, '[balancer] batch'),
        ('[DEFAULT]\ndebug = maybe', '[DEFAULT] debug'),
        ('[DEFAULT]\ndebug =', '[DEFAULT] debug'),
        ('[DEFAULT]\nrate_limit_interval =', '[DEFAULT] rate_limit_interval'),
        ('[cinder]\ntimeout = -1', '[cinder] timeout'),
        ('[cinder]\ntimeout = ' + '9' * 30, '[cinder] timeout'),
        ('[cinder]\nnoauth_project_id =', '[cinder] noauth_project_id'),
        ('[cinder]\ninsecure = maybe', '[cinder] insecure'),
        ('[telemetry]\nendpoints = a', '[telemetry] endpoints'),
        ('[telemetry]\nendpoints = a:', '[telemetry] endpoints'),
        ('[telemetry]\nendpoints = a:b,a:c', '[telemetry] endpoints'),
        ('[balancer]\nexcluded_projects = a,,b', 'excluded_projects'),
        ('[serifos]\nstate_dir = $nosuch', '[serifos] state_dir'),
        ('[balancer]\nmode = automatic', '[balancer] mode'),
        ('[balancer', 'serifos.conf'), ('batch', 'serifos.conf'),
        ('[serifos]\nstate_dir = a\0b', '[serifos] state_dir has a NUL'),
        ('[serifos]\nstate_dir = $state_dir', 'state_dir refers to itself'),
        ('[DEFAULT]\nlog_dir = $log_dir', '[DEFAULT] refers to itself'),
        ('\0', 'serifos.conf'))
    @ddt.unpack
    def test_what_else_cannot_be_used(self, text, named):
        said = self.refusal(text + '\n')
        self.assertIn(named, said)
        self.assertNotIn('LocationInfo', said)

    def test_a_file_that_is_no_text(self):
        with open(self.file, 'wb') as file:
            file.write(b'[balancer]\nbatch = \xff\n')
        self.assertRaises(errors.InputError, conf.load, [self.file])
        for path in self.dir.path, self.dir.join('nowhere'):
            error = self.assertRaises(errors.InputError, conf.load, [path])
            self.assertIn(path, str(error))

    def test_the_environment_is_refused_too(self):
        self.useFixture(fixtures.EnvironmentVariable(
            'OS_BALANCER__BATCH', ''))
        self.assertIn('[balancer] batch ', self.refusal(''))

    def test_nothing_is_asked_before(self):
        self.write('[cinder]\nnoauth_endpoint = http://127.0.0.1:1/v3\n'
                   '[balancer]\nbatch =\n')
        for verb in ('observe',), ('run', '--once'), ('history',), ('plan',):
            code, out, err = command.balance(
                '--config-file', self.file, *verb)
            self.assertEqual((2, ''), (code, out))
            self.assertIn('[balancer] batch is left empty', err)


@ddt.ddt
class UnknownTest(Case):
    """An option that nothing reads is told, with the nearest name."""

    def told(self, text):
        return [said.partition(': ')[2].replace(' and has no effect', '')
                for said in self.load(text).unknown()]

    @ddt.data(
        ('[balancer]\nmin_gian = 0.3',
         '[balancer] min_gian is not an option; did you mean min_gain?'),
        ('[balancr]\nmode = auto',
         '[balancr] is not a section; did you mean [balancer]?'),
        ('[serifos]\nmode = auto',
         '[serifos] mode is not an option; it belongs in [balancer].'),
        ('[DEFAULT]\nmax_gib_per_day = 5', '[DEFAULT] max_gib_per_day is not '
         'an option; it belongs in [balancer].'),
        ('[Cinder]\nregionname = x',
         '[Cinder] regionname is not an option; did you mean region_name?'),
        ('[history]\nzz\u202ez = x',
         '[history] zz\\u202ez is not an option; take it out.'))
    @ddt.unpack
    def test_a_mistake(self, text, said):
        self.assertEqual([said], self.told(text))

    @ddt.data(
        '[DEFAULT]\ntransport_url = x\nuse_journal = true\nlogfile = x',
        '[oslo_messaging_rabbit]\nrabbit_retry_interval = 1',
        '[oslo_reports]\nlog_dir = x', '[database]\nmax_retries = 5',
        '[keystone_authtoken]\nauth_url = x\npassword = x',
        '[cinder]\nauth_type = password\nuser_domain_name = x\n'
        'user_name = x\nservice_type = volumev3\nconnect_retries = 2',
        '[nova]\nauth_type = v3applicationcredential\n'
        'application_credential_id = x\ninterface = x',
        '[BALANCER]\nmin_gain = 0.2')
    def test_options_of_libraries_are_known(self, text):
        self.assertEqual([], self.told(text))

    def test_every_option_of_the_sample(self):
        sample = (ROOT / 'etc/serifos/serifos.conf.sample').read_text()
        names = re.findall(r'(?m)^(?:\[.*\]|#[a-z]\w* =)', sample)
        self.assertLess(60, len(names))
        self.write('\n'.join(f'{name.lstrip("#")} x' if name[0] == '#'
                             else name for name in names))
        self.assertEqual([], [*files.unknown(
            [self.file], conf.Options().known())])

    def test_mode_auto_refuses_what_else_warns(self):
        for mode in 'advise', 'auto':
            self.write(f'[serifos]\nstate_dir = {self.dir.path}\n'
                       f'[balancer]\nmode = {mode}\nmax_gib_per_dya = 5\n')
            said = command.balance('--config-file', self.file, 'run',
                                   '--once')[2]
            self.assertIn('did you mean max_gib_per_day?', said)
            self.assertEqual(mode == 'auto', 'does not start' in said)


class ReloadTest(Case):

    def setUp(self):
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger())
        self.conf = self.load('[balancer]\nbatch = 5\ninterval = 60\n')

    def test_bad_values_change_nothing(self):
        for bad in 'batch =', 'batch = x', 'min_gain = nan', '[nonsense':
            self.write(f'[balancer]\ninterval = 99\n{bad}\n')
            self.assertFalse(self.conf.reload_config_files())
            self.assertEqual((5, 60), (self.conf.balancer.batch,
                                       self.conf.balancer.interval))
        self.assertEqual(4, self.log.output.count('stays as it was'))
        self.assertIn('[balancer] batch is left empty', self.log.output)

    def test_an_unknown_option_is_told_and_in_mode_auto_refused(self):
        for mode, taken in (('advise', True), ('auto', False)):
            self.write(f'[balancer]\nmode = {mode}\nbathc = 7\n')
            self.assertEqual(taken, self.conf.reload_config_files())
            self.assertEqual('advise', self.conf.balancer.mode)
        self.assertEqual(3, self.log.output.count('did you mean batch?'))

    def test_good_values_are_taken(self):
        self.write('[balancer]\nbatch = 7\n')
        self.assertTrue(self.conf.reload_config_files())
        self.assertEqual(7, self.conf.balancer.batch)
        self.assertEqual(300, self.conf.balancer.interval)
