# SPDX-License-Identifier: Apache-2.0
"""Each source of telemetry, from serifos.conf to a plan."""

import logging
import pathlib
import re

import ddt
import fixtures
from keystoneauth1 import fixture as ks_fixture
from requests_mock.contrib import fixture
import testtools

from serifos.cmd.balancer import adapters
from serifos.cmd.balancer import configuration
from serifos import conf
from serifos.facts import activity
from tests.unit.balancer import cloud
from tests.unit import case
from tests.unit.cloud import test_client
from tests.unit.cmd import command

KEYSTONE = 'http://keystone:5000/v3'
PLACE = activity.MeasuredVolume('u', 'u', 'a@ssd#ssd')


@ddt.ddt
class SettingsTest(case.DirectoryCase):

    @ddt.data((0, 120, 0.0), (2 ** 26, 120, 16.0), (2 ** 23, 512, 128.0))
    @ddt.unpack
    def test_cinders_limit_of_copies(self, limit, timeout_s, limited_s):
        file = self.dir / 'serifos.conf'
        file.write_text(f'[balancer]\nvolume_copy_bps_limit = {limit}\n')
        found = configuration.settings(conf.load([str(file)]))
        self.assertEqual(timeout_s, found.timeouts.timeout_per_gib_s)
        self.assertEqual(limited_s, found.limits.copying.limited)


class ExcludedTest(cloud.Case):
    """Projects that serifos.conf excludes, up to a round."""

    def moved(self, projects):
        file = self.dir / 'serifos.conf'
        file.write_text(
            f'[serifos]\nstate_dir = {self.dir}\n'
            f'models_dir = {self.dir / "models"}\n'
            f'[balancer]\nmode = auto\nexcluded_projects = {projects}\n')
        self.settings = configuration.settings(conf.load([str(file)]))
        self.balancer.round()
        return [volume for volume, _ in self.cinder.asked]

    def test_their_volumes_stay(self):
        self.assertEqual([], self.moved('o,p'))

    def test_those_of_others_move(self):
        self.assertEqual(['u'], self.moved('o'))


class GnocchiTest(case.DirectoryCase):

    def setUp(self):
        super().setUp()
        file = self.dir / 'serifos.conf'
        file.write_text(f'''
[cinder]
noauth_endpoint = http://cinder:8776/v3
noauth_project_id = {test_client.PROJECT}
[telemetry]
source = gnocchi
auth = none
gnocchi_url = http://gnocchi:8041
''')
        self.http = self.useFixture(fixture.Fixture())
        self.source = adapters.telemetry(conf.load([str(file)]))

    def observed(self, attachments):
        self.http.get(f'{test_client.URL}/volumes/detail', json={
            'volumes': [test_client.volume('u', attachments=attachments)]})
        self.http.post('http://gnocchi:8041/v1/search/resource/instance_disk',
                       json=[])
        return self.source.observe([PLACE], 600).missing['u']

    def test_cinder_tells_what_is_attached_where(self):
        self.assertIn('no resource i-1-vdb', self.observed(
            [{'server_id': 'i-1', 'device': '/dev/vdb'}]))

    def test_what_is_attached_nowhere_is_unknown(self):
        self.assertIn('not attached to one instance', self.observed([]))


class PasswordTest(testtools.TestCase):

    def test_no_url_of_the_configuration_is_logged(self):
        file = pathlib.Path(self.useFixture(fixtures.TempDir()).path, 'conf')
        file.write_text('''
[balancer]
lock_url = mysql://u:s3cr@db/serifos
[cinder]
noauth_endpoint = http://u:s3cr@cinder:8776/v3
endpoint_override = http://u:s3cr@cinder:8776/v3
[telemetry]
password = s3cr
endpoints = node1:http://u:s3cr@node1:9100/metrics
prometheus_url = http://u:s3cr@prometheus:9090
gnocchi_url = http://u:s3cr@gnocchi:8041
''')
        log = self.useFixture(fixtures.FakeLogger(level=logging.DEBUG))
        conf.load([str(file)]).log_opt_values(
            logging.getLogger(), logging.DEBUG)
        self.assertIn('telemetry.endpoints', log.output)
        self.assertNotIn('s3cr', log.output)


@ddt.ddt
class LoginTest(case.DirectoryCase):
    """[cinder] of serifos.conf with a login at Keystone."""

    def setUp(self):
        super().setUp()
        self.http = self.useFixture(fixture.Fixture())

    def refused(self, code, words, **changed):
        """Asserts the exit code, and one sentence, of observe."""
        options = {'auth_type': 'v3password', 'auth_url': KEYSTONE,
                   'username': 'serifos', 'password': 's3cr',
                   'user_domain_id': 'default', **changed}
        file = self.dir / 'serifos.conf'
        file.write_text('\n'.join([
            f'[serifos]\nstate_dir = {self.dir}\nmodels_dir = {self.dir}',
            '[telemetry]\nendpoints = node1:http://node1:9100/metrics',
            '[cinder]', *(f'{name} = {value}'
                          for name, value in options.items())]))
        found, out, err = command.balance('--config-file', file, 'observe')
        self.assertEqual((code, '', 1), (found, out, err.count('\n')), err)
        self.assertIn(words, err)
        self.assertNotIn('s3cr', err)

    def test_a_wrong_password_is_said_before_readings_are_taken(self):
        self.http.post(f'{KEYSTONE}/auth/tokens', status_code=401)
        self.refused(5, 'Keystone refuses the login')
        self.assertEqual(1, self.http.call_count, 'it asked an exporter')

    def test_no_password(self):
        self.refused(2, 'lacks the password', auth_type='password',
                     password='')

    @ddt.data('cafile', 'certfile')
    def test_a_file_that_tls_cannot_use(self, name):
        self.refused(2, f'{name} /nowhere in [cinder]', **{name: '/nowhere'})
        rubbish = self.dir / 'rubbish'
        rubbish.write_text('rubbish')
        self.refused(2, f'{name} {rubbish} in [cinder]', **{name: rubbish})


@ddt.ddt
class RegionTest(case.DirectoryCase):
    """The Nova that is asked in a cloud of two regions."""

    def setUp(self):
        super().setUp()
        self.http = self.useFixture(fixture.Fixture())
        token = ks_fixture.V3Token()
        token.set_project_scope()
        compute = token.add_service('compute')
        for region in 'one', 'two':
            compute.add_standard_endpoints(
                region=region, public=f'http://{region}.public/v2.1',
                internal=f'http://{region}.internal/v2.1')
        self.http.post(f'{KEYSTONE}/auth/tokens', json=token,
                       headers={'X-Subject-Token': 't'})

    @ddt.data(
        ('region_name = two', '', 'two.public'),
        ('region_name = two\nvalid_interfaces = internal', '',
         'two.internal'),
        ('region_name = two', 'region_name = one', 'one.public'),
        ('region_name = two', 'valid_interfaces = internal', 'two.internal'))
    @ddt.unpack
    def test_without_a_login_of_its_own_it_is_that_of_cinder(
            self, cinder, nova, host):
        file = self.dir / 'serifos.conf'
        file.write_text(
            f'[cinder]\nauth_type = v3password\nauth_url = {KEYSTONE}\n'
            'username = serifos\npassword = s3cr\nuser_domain_id = default\n'
            f'{cinder}\n[nova]\n{nova}\n')
        self.http.get(re.compile('/servers|/os-services'), json={
            'servers': [], 'services': []})
        adapters.nova(conf.load([str(file)])).servers()
        self.assertEqual({host}, {
            request.hostname for request in self.http.request_history
            if request.method == 'GET'})
