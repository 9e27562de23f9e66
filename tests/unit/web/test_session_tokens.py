# SPDX-License-Identifier: Apache-2.0
"""Why there is no token, with answers of Keystone 30."""

import datetime

import ddt
from keystoneauth1 import exceptions
from keystoneauth1 import fixture as ks_fixture
from keystoneauth1 import identity
import requests
import requests_mock
from requests_mock.contrib import fixture
import testtools

from serifos import web

URL = 'http://keystone:5000/v3'
DOMAINS = {'user_domain_id': 'default', 'project_domain_id': 'default'}


def password():
    """A login that has asked nobody yet."""
    return identity.Password(auth_url=URL, username='serifos',
                             password='s3cr', project_name='p', **DOMAINS)


PASSWORD = password()
CREDENTIAL = identity.V3ApplicationCredential(
    URL, application_credential_id='i', application_credential_secret='s3cr')
TOKEN = identity.V3Token(URL, 'gAAA', project_id='p')


def refusal(code, message):
    return {'status_code': code,
            'headers': {'Content-Type': 'application/json'},
            'json': {'error': {'code': code, 'message': message}}}


@ddt.ddt
class TokenErrorsTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.http = self.useFixture(fixture.Fixture())
        self.http.get(URL, json={'version': ks_fixture.V3Discovery(URL)})

    def why(self, auth):
        asking = web.Session(auth=auth)
        return str(self.assertRaises(
            web.NoToken, asking.get, 'http://cinder:8776/v3'))

    @ddt.data(
        (PASSWORD, refusal(401, 'The request you have made requires '
                           'authentication.'), 'the password'),
        (CREDENTIAL, refusal(404, 'Could not find Application Credential: '
                             'i.'), 'has expired or was deleted'),
        (CREDENTIAL, refusal(401, 'The request you have made requires '
                             'authentication.'), 'has expired'),
        (TOKEN, refusal(404, 'Failed to validate token'),
         'cannot be renewed; give a password'))
    @ddt.unpack
    def test_a_refusal_says_what_may_be_wrong(self, auth, answer, words):
        self.http.post(f'{URL}/auth/tokens', **answer)
        why = self.why(auth)
        self.assertIn('Keystone refuses the login (', why)
        self.assertIn(words, why)
        self.assertIn(answer['json']['error']['message'].rstrip('.'), why)
        self.assertNotIn('s3cr', why)

    @ddt.data(
        ({'exc': requests.exceptions.ConnectTimeout},
         'Keystone does not answer'),
        (refusal(500, 'It has crashed'), 'Keystone gives no token: It has'),
        ({'exc': requests.exceptions.SSLError(
            "HTTPSConnectionPool(host='k', port=5000): Max retries exceeded "
            'with url: /v3/auth/tokens (Caused by SSLError('
            "SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] "
            'certificate verify failed: unable to get local issuer '
            "certificate (_ssl.c:1006)')))")},
         'the certificate of Keystone cannot be verified (unable to get '
         'local issuer certificate); cafile has to name'),
        ({'exc': requests.exceptions.SSLError(
            "HTTPSConnectionPool(host='k', port=5000): Max retries exceeded "
            "with url: / (Caused by SSLError(SSLError(1, '[SSL: "
            "WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1006)')))")},
         'Keystone does not speak TLS as expected (wrong version number)'))
    @ddt.unpack
    def test_what_else_goes_wrong_is_one_clause(self, answer, words):
        self.http.post(f'{URL}/auth/tokens', **answer)
        why = self.why(CREDENTIAL)
        self.assertIn(words, why)
        self.assertNotIn('Pool', why)

    @ddt.data(
        (URL, 'get', {'version': {'id': 'v3.14', 'status': 'stable',
                                  'links': [{'rel': 1.5, 'href': URL}]}}),
        (f'{URL}/auth/tokens', 'post', 7))
    @ddt.unpack
    def test_what_is_no_keystone(self, url, method, answer):
        self.http.register_uri(method, url, json=answer, headers={
            'X-Subject-Token': 't'})
        self.assertIn('what answers is not Keystone as expected',
                      self.why(password()))

    def test_an_error_that_is_nested_too_deeply(self):
        self.http.post(
            f'{URL}/auth/tokens', status_code=500, text='[' * 100_000,
            headers={'Content-Type': 'application/json'})
        self.assertIn('not Keystone as expected',
                      self.why(password()))

    def test_a_catalogue_that_is_none(self):
        doc = ks_fixture.V3Token()
        doc.set_project_scope()
        doc['token']['catalog'] = [{'type': 'compute', 'endpoints': 7}]
        self.http.post(f'{URL}/auth/tokens', json=doc, headers={
            'X-Subject-Token': 't'})
        error = self.assertRaises(
            exceptions.CatalogException, web.Session(
                auth=password()).get_endpoint,
            service_type='compute')
        self.assertIn('it cannot be read', str(error))

    def test_no_keystone_there(self):
        self.http.register_uri(requests_mock.ANY, requests_mock.ANY,
                               status_code=404)
        self.assertIn('(Not Found (HTTP 404)): auth_url is wrong', self.why(
            identity.Password(auth_url=f'{URL}/wrong', username='serifos',
                              password='s3cr')))

    def test_a_token_that_expires_is_renewed(self):
        for number in 1, 2, 3:
            doc = ks_fixture.V3Token(
                expires=datetime.datetime.now(datetime.UTC)
                + datetime.timedelta(seconds=5))
            doc.set_project_scope()
            self.http.post(f'{URL}/auth/tokens', json=doc, headers={
                'X-Subject-Token': f'token{number}'})
            if number == 1:
                asking = web.Session(auth=identity.V3Password(
                    URL, username='u', password='s3cr', **DOMAINS))
            self.http.get('http://cinder:8776/v3', text='yes')
            asking.get('http://cinder:8776/v3')
            self.assertEqual(
                f'token{number}',
                self.http.last_request.headers['X-Auth-Token'])
