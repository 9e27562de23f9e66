# SPDX-License-Identifier: Apache-2.0
"""Logins at Keystone, with the rights of the example policies."""

import time

from tests.functional.testbed import login_case
from tests.testbed import layout
from tests.testbed.nova import config

TLS_PORT, NO_PORT = 5443, 5999


class LoginTest(login_case.LoginCase):

    programs = ('openssl',)

    def refused(self, login, words, code=5):
        """Asserts that observe says one sentence."""
        found, out, err = self.run_as(
            login, 'observe', '--window', '30')
        self.assertEqual((code, ''), (found, out), err)
        self.assertEqual(1, err.count('\n'), err)
        self.assertIn(words, err)

    def certificate(self, name):
        """(certificate, key) of the control host, signed by itself."""
        certificate, key = (self.directory / f'{name}.{kind}'
                            for kind in ('pem', 'key'))
        self.run_tool('openssl', 'req', '-x509', '-newkey', 'rsa:2048',
                      '-nodes', '-days', '1', '-subj', f'/CN={name}',
                      '-addext', f'subjectAltName=IP:{layout.CONTROL}',
                      '-keyout', key, '-out', certificate)
        return certificate, key

    def test_each_wrong_login_is_one_sentence(self):
        good = self.accounts.user('serifos_reader')
        self.refused(self.accounts.user('member'), 'Cinder denies access (')
        for name in ('password', 'project_name', 'user_domain_id',
                     'project_domain_id'):
            self.refused({**good, name: 'wrong'},
                         'Keystone refuses the login (')
        self.refused({**good, 'region_name': 'elsewhere'},
                     'catalogue does not list Cinder')
        self.refused({**good, 'auth_url':
                      f'http://{layout.CONTROL}:{NO_PORT}/v3'},
                     'Keystone does not answer')
        gone = self.accounts.credential(good)
        self.accounts.delete(good, gone)
        late = self.accounts.credential(good, seconds=2)
        brief = self.serve_brief_tokens()
        token = self.accounts.token(good, login_case.BRIEF_PORT)[0]
        time.sleep(login_case.EXPIRY_S + 1)
        for login in gone, late:
            self.refused(login, 'has expired or was deleted')
        self.refused({'auth_type': 'v3token', 'auth_url': brief,
                      'token': token, 'region_name': config.REGION},
                     'has expired or was revoked, and cannot be renewed')

    def test_tls_by_a_private_authority(self):
        good = {**self.accounts.credential(
            self.accounts.user('serifos_reader')),
            'auth_url': f'https://{layout.CONTROL}:{TLS_PORT}/v3'}
        certificate, key = self.certificate('right')
        self.serve(TLS_PORT, f'{layout.INSIDE.parent}/nova/tls.py',
                   layout.CONTROL, TLS_PORT, config.KEYSTONE_PORT,
                   certificate, key)
        code, out, err = self.run_as(
            {**good, 'cafile': certificate}, 'observe', '--window', '30')
        self.assertEqual(0, code, out + err)
        unknown = 'the certificate of Keystone cannot be verified'
        self.refused(good, unknown)
        self.refused({**good, 'cafile': self.certificate('wrong')[0]},
                     unknown)
        self.refused({**good, 'cafile': '/nowhere.pem'},
                     'cafile /nowhere.pem in [cinder]', 2)
