# SPDX-License-Identifier: Apache-2.0
"""The client, with replies in the shapes of cinder-api 29.0.0."""

import threading
from urllib import parse

import ddt
from keystoneauth1 import fixture as ks_fixture
from keystoneauth1 import identity
from keystoneauth1.session import Session
import requests
import requests_mock
from requests_mock.contrib import fixture
import testtools

from serifos.cloud import client as volumes
from serifos.cloud import pages
from serifos import errors
from serifos.facts import cinder_errors
from serifos.facts.inventory import Type
from serifos import web
from tests.unit.cloud import test_api_views
from tests.unit.web import hostile

PROJECT = 'ad' * 16
KEYSTONE = 'http://keystone:5000/v3'
URL = f'http://cinder:8776/v3/{PROJECT}'
GONE = {'itemNotFound': {'code': 404,
                         'message': 'Volume v could not be found.'}}
NOWHERE = {'itemNotFound': {
    'code': 404, 'message': 'The resource could not be found.<br /><br />'}}
REFUSAL = {'badRequest': {
    'code': 400, 'message': 'Invalid volume: Volume v status must be '
    'available or in-use, must not be migrating, have snapshots.'}}


def volume(name, **others):
    return {**test_api_views.VOLUME, 'id': name, **others}


class Case(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.http = self.useFixture(fixture.Fixture())
        self.cinder = volumes.noauth('http://cinder:8776/v3/', PROJECT)

    def page(self, path, key, items, link=None, size=2):
        """Serves items as Cinder with ``osapi_max_limit = size``."""
        def answer(request, context):
            query = parse.parse_qs(request.query)
            names = [item['id'] for item in items]
            marker = query.get('marker', [None])[0]
            begin = names.index(marker) + 1 if marker else 0
            some = items[begin:begin + size]
            doc = {key: some}
            if len(some) == size:
                doc[link or f'{key}_links'] = [
                    {'rel': 'next', 'href': 'http://internal/unreachable'}]
            return doc
        self.http.get(f'{URL}{path}', json=answer)

    def everything(self):
        self.page('/volumes/detail', 'volumes', [
            volume('u'), volume('v', migration_status='migrating'),
            volume('w', migration_status='target:v'), volume('x'),
            volume('y')])
        self.page('/snapshots', 'snapshots', [
            {'id': f's{i}', 'volume_id': 'uyu'[i]} for i in range(3)])
        self.page('/types', 'volume_types', [
            {'id': f't{i}', 'name': f'gold{i}', 'is_public': i != 2,
             'extra_specs': {'serifos:write_pct': '30'},
             'qos_specs_id': 'q' if i == 2 else None} for i in range(3)],
            link='volume_type_links')
        self.page('/qos-specs', 'qos_specs', [
            {'id': 'q', 'name': 'slow', 'consumer': 'front-end',
             'specs': {'total_iops_sec': '500'}}])
        self.http.get(f'{URL}/scheduler-stats/get_pools', json={'pools': [
            {'name': 'a@ssd#ssd',
             'capabilities': test_api_views.CAPABILITIES}]})
        self.http.get(f'{URL}/os-services', json={'services': [
            {'binary': 'cinder-volume', 'host': 'a@ssd', 'zone': 'nova',
             'status': 'enabled', 'state': 'up', 'backend_state': 'up',
             'updated_at': None, 'frozen': False}]})

    def questions(self, path):
        return [parse.parse_qs(request.query)
                for request in self.http.request_history
                if request.path.endswith(path)]


class InventoryTest(Case):

    def test_everything_of_all_projects(self):
        self.everything()
        found = self.cinder.inventory()
        self.assertEqual('u v w x y'.split(), [r.id for r in found.records])
        self.assertEqual([2, 0, 0, 0, 1],
                         [r.snapshots for r in found.records])
        self.assertEqual('v', found.record_by_id['w'].target_of)
        self.assertEqual(['gold0', 'gold1', 'gold2'],
                         [kind.name for kind in found.types])
        self.assertEqual([{}, {}, {'total_iops_sec': '500'}],
                         [kind.qos for kind in found.types])
        self.assertEqual(['back-end', 'back-end', 'front-end'],
                         [kind.qos_consumer for kind in found.types])
        self.assertEqual('30',
                         found.types[2].extra_specs['serifos:write_pct'])
        self.assertEqual('a@ssd', found.service_of('a@ssd#ssd').host)
        self.assertEqual(['a@ssd#ssd'], [p.name for p in found.pools])

    def test_what_one_instance_has(self):
        def at(*servers):
            return [{'server_id': server, 'device': f'/dev/vd{server}',
                     'attached_at': '1970-01-01T00:01:05.000000'}
                    for server in servers]
        self.page('/volumes/detail', 'volumes', [
            volume('u', attachments=at('b')), volume('v', attachments=[]),
            volume('w', attachments=at('b', 'c')),
            volume('x', attachments=[{'server_id': None,
                                      'device': '/dev/vdb'}]),
            volume('y', attachments=[{'server_id': 's', 'device': '/dev/vdc',
                                      'attached_at': 'soon'}])])
        self.assertEqual({'u': ('b', '/dev/vdb', 65), 'y': (
            's', '/dev/vdc', 0)}, self.cinder.attachments())

    def test_how_it_asks(self):
        self.everything()
        self.cinder.inventory()
        self.assertEqual([None, ['v'], ['x']], [
            query.get('marker')
            for query in self.questions('/volumes/detail')])
        for path in '/volumes/detail', '/snapshots':
            for query in self.questions(path):
                self.assertEqual(['1'], query['all_tenants'])
                self.assertEqual([str(pages.PAGE)], query['limit'])
        self.assertEqual(['none'], self.questions('/types')[0]['is_public'])
        self.assertEqual(['true'], self.questions('/get_pools')[0]['detail'])
        for request in self.http.request_history:
            self.assertEqual(f'admin:{PROJECT}',
                             request.headers['X-Auth-Token'])
            self.assertEqual('volume 3.70',
                             request.headers['OpenStack-API-Version'])

    def test_volumes_that_are_under_way(self):
        self.everything()
        steps = [{'migration_status': 'starting'},
                 {'migration_status': 'migrating'},
                 {'migration_status': 'completing'},
                 {'migration_status': 'deleting'}, {'status': 'deleting'},
                 {'status': 'error_deleting'}]
        self.http.get(f'{URL}/volumes/detail', json={'volumes': []})
        for nth, query in enumerate(steps[:2]):
            self.http.get(
                f'{URL}/volumes/detail?{parse.urlencode(query)}',
                json={'volumes': [volume('u', **query), volume(
                    f'v{nth}', **query)]})
        found = self.cinder.under_way()
        self.assertEqual(
            {'u': 'migrating', 'v0': 'starting', 'v1': 'migrating'},
            {each.id: each.migration_status for each in found.records})
        self.assertEqual('a@ssd', found.service_of('a@ssd#ssd').host)
        self.assertEqual((), found.unread)
        self.assertEqual(
            [{name: [value] for name, value in query.items()}
             for query in steps],
            [{name: value for name, value in query.items()
              if name in ('status', 'migration_status')}
             for query in self.questions('/volumes/detail')])

    def test_what_is_under_way_and_cannot_be_read(self):
        self.everything()
        self.http.get(f'{URL}/volumes/detail', json={'volumes': [
            {'id': 'u', 'migration_status': 'migrating'},
            {'migration_status': 'starting'}, volume('w')]})
        self.assertEqual(['migrating', 'starting'], sorted({
            each.migration_status
            for each in self.cinder.under_way().unread}))

    def test_a_volume_deleted_between_two_pages(self):
        self.everything()
        first = {'volumes': [volume('u'), volume('gone')],
                 'volumes_links': [{'rel': 'next', 'href': 'x'}]}
        self.http.get(f'{URL}/volumes/detail', [
            {'json': first}, {'json': GONE, 'status_code': 404},
            {'json': {'volumes': [volume('u'), volume('v')]}}])
        self.assertEqual(
            ['u', 'v'], [r.id for r in self.cinder.inventory().records])


@ddt.ddt
class RightsTest(Case):
    """What Cinder 29 leaves out where a policy does not let us see it."""

    def denied(self, ask=None):
        error = self.assertRaises(
            cinder_errors.Refused, ask or self.cinder.inventory)
        self.assertEqual(403, error.status)
        self.assertIn('Cinder denies access (it ', str(error))
        return str(error)

    @ddt.data(
        ('migration_status', 'context_is_admin'),
        ('os-vol-host-attr:host', 'volume_host_attribute'),
        ('os-vol-mig-status-attr:name_id', 'volume_mig_status_attribute'),
        ('os-vol-tenant-attr:tenant_id', 'volume_tenant_attribute'))
    @ddt.unpack
    def test_volumes_without_a_field(self, field, policy):
        self.everything()
        hidden = volume('u')
        del hidden[field]
        self.page('/volumes/detail', 'volumes', [hidden])
        self.assertIn(policy, self.denied())

    @ddt.data(('extra_specs', 'access_types_extra_specs'),
              ('qos_specs_id', 'access_types_qos_specs_id'))
    @ddt.unpack
    def test_types_without_a_field(self, field, policy):
        self.everything()
        hidden = {'id': 't', 'name': 'gold', 'is_public': True,
                  'extra_specs': {}, 'qos_specs_id': None}
        del hidden[field]
        self.page('/types', 'volume_types', [hidden])
        self.assertIn(policy, self.denied())

    def test_a_project_without_volumes(self):
        self.everything()
        self.page('/volumes/detail', 'volumes', [])
        for ask in self.cinder.inventory, self.cinder.under_way:
            self.assertIn('context_is_admin', self.denied(ask))

    def test_a_cloud_without_volumes(self):
        self.everything()
        self.page('/volumes/detail', 'volumes', [])
        self.http.get(f'{URL}/types?is_public=False',
                      json={'volume_types': []})
        self.assertEqual((), self.cinder.inventory().records)
        self.assertEqual((), self.cinder.under_way().records)


@ddt.ddt
class VerbTest(Case):

    def test_a_volume(self):
        self.http.get(f'{URL}/volumes/v', json={'volume': volume('v')})
        self.assertEqual('b@ssd#ssd', self.cinder.volume('v').pool)

    def test_a_volume_that_is_gone(self):
        self.http.get(f'{URL}/volumes/v', json=GONE, status_code=404)
        self.assertIsNone(self.cinder.volume('v'))

    def test_a_wrong_url_does_not_make_volumes_gone(self):
        self.http.register_uri(requests_mock.ANY, requests_mock.ANY,
                               json=NOWHERE, status_code=404)
        for verb in self.cinder.volume, self.cinder.delete:
            error = self.assertRaises(cinder_errors.Refused, verb, 'v')
            self.assertEqual(
                'Cinder refuses: The resource could not be found. (HTTP '
                '404); look at the URL and the project in [cinder] of '
                'serifos.conf.', str(error))

    def test_the_halves_of_a_migration(self):
        by_status = {
            'target:v': [volume('new', migration_status='target:v')],
            'deleting': [
                volume('old', migration_status='deleting',
                       description='migration src for v'),
                volume('other', migration_status='deleting',
                       description='migration src for w')]}

        def answer(request, context):
            query = parse.parse_qs(request.query)
            return {'volumes': by_status[query['migration_status'][0]]}
        self.http.get(f'{URL}/volumes/detail', json=answer)
        self.assertEqual(['new', 'old'],
                         [half.id for half in self.cinder.halves('v')])

    @ddt.data(
        (('migrate', 'v', 'b@ssd#ssd'), {'os-migrate_volume': {
            'host': 'b@ssd#ssd', 'force_host_copy': False,
            'lock_volume': True}}),
        (('complete', 'v', 'w'), {'os-migrate_volume_completion': {
            'new_volume': 'w', 'error': False}}),
        (('reset', 'v'), {'os-reset_status': {'migration_status': 'none'}}),
        (('reset', 'v', 'error'), {'os-reset_status': {
            'status': 'error', 'migration_status': 'none'}}))
    @ddt.unpack
    def test_what_is_asked(self, call, body):
        self.http.post(f'{URL}/volumes/v/action', status_code=202,
                       json={'save_volume_id': 'v'})
        verb, *arguments = call
        getattr(self.cinder, verb)(*arguments)
        self.assertEqual(body, self.http.last_request.json())

    def test_a_pool_of_a_cluster_is_asked_for_as_such(self):
        self.everything()
        self.http.get(f'{URL}/os-services', json={'services': [
            {'binary': 'cinder-volume', 'host': host, 'cluster': cluster,
             'status': 'enabled', 'state': 'up'}
            for host, cluster in (('a@ssd', None), ('b@ssd', 'c@ssd'))]})
        self.http.post(f'{URL}/volumes/v/action', status_code=202)
        self.cinder.inventory()
        for kind, pool in ('cluster', 'c@ssd#ssd'), ('host', 'a@ssd#ssd'):
            self.cinder.migrate('v', pool)
            self.assertEqual({'os-migrate_volume': {
                kind: pool, 'force_host_copy': False, 'lock_volume': True}},
                self.http.last_request.json())

    def test_what_is_set_of_a_volume(self):
        self.http.put(f'{URL}/volumes/v', json={'volume': {}})
        self.http.post(f'{URL}/volumes/v/metadata', json={'metadata': {}})
        self.http.delete(f'{URL}/volumes/v/metadata/c%20d', status_code=404,
                         json={'itemNotFound': {'code': 404, 'message': (
                             'Volume v has no metadata with key c d.')}})
        self.cinder.relabel('v', {'name': ''}, {'a': 'b', 'c d': None})
        self.assertEqual(
            [('PUT', {'volume': {'name': ''}}),
             ('POST', {'metadata': {'a': 'b'}}), ('DELETE', None)],
            [(request.method, request.text and request.json())
             for request in self.http.request_history])

    @ddt.data({'status_code': 202}, {'status_code': 404, 'json': GONE})
    def test_unmanage(self, answer):
        self.http.post(f'{URL}/volumes/v/action', **answer)
        self.cinder.unmanage('v')
        self.assertEqual({'os-unmanage': None},
                         self.http.last_request.json())

    def test_what_is_on_a_backend(self):
        names = [f'volume-{i}' for i in range(3)]

        def answer(request, context):
            query = parse.parse_qs(request.query)
            self.assertEqual(['a@ssd#ssd'], query['host'])
            begin = int(query['offset'][0])
            return {'manageable-volumes': [
                {'reference': {'source-name': name}, 'size': 1,
                 'safe_to_manage': False}
                for name in names[begin:begin + 2]]}
        self.http.get(f'{URL}/manageable_volumes', json=answer)
        self.assertEqual({*names}, self.cinder.logical_volumes('a@ssd#ssd'))
        names.clear()
        self.assertIsNone(self.cinder.logical_volumes('a@ssd#ssd'))

    def test_snapshots_of_a_volume(self):
        # An operator may have taken volume_id from the filters of users.
        self.http.get(f'{URL}/snapshots', json={'snapshots': [
            {'id': f's{i}', 'volume_id': volume}
            for i, volume in enumerate('ccd')]})
        self.assertEqual([2, 1, 0], [
            self.cinder.snapshots_of(volume) for volume in 'cde'])
        asked = parse.parse_qs(self.http.last_request.query)
        self.assertEqual((['1'], ['e']), (asked['all_tenants'],
                                          asked['volume_id']))

    def test_a_volume_type(self):
        self.page('/types', 'volume_types', [
            {'id': 'g', 'name': 'gold', 'qos_specs_id': None,
             'extra_specs': {'serifos:balance': 'false'}},
            {'id': 't', 'name': 'tin', 'qos_specs_id': None,
             'extra_specs': {}}])
        self.assertEqual(
            Type('gold', {'serifos:balance': 'false'}),
            self.cinder.volume_type('gold'))
        self.assertIsNone(self.cinder.volume_type('brass'))
        self.assertEqual(['none'], self.questions('/types')[0]['is_public'])

    def test_a_volume_type_that_cannot_be_read(self):
        self.page('/types', 'volume_types', [
            {'id': 'g', 'name': 'gold', 'extra_specs': {'x': []},
             'qos_specs_id': None}])
        error = self.assertRaises(errors.CloudError,
                                  self.cinder.volume_type, 'gold')
        self.assertIn('volume type gold cannot be read', str(error))

    def test_a_volume_type_without_its_extra_specs(self):
        self.page('/types', 'volume_types', [
            {'id': 'g', 'name': 'gold', 'qos_specs_id': None}])
        error = self.assertRaises(cinder_errors.Refused,
                                  self.cinder.volume_type, 'gold')
        self.assertIn('access_types_extra_specs', str(error))

    def test_attachments(self):
        iscsi = {'driver_volume_type': 'iscsi', 'target_lun': 0,
                 'target_iqn': 'iqn.x:volume-c', 'auth_password': 'secret',
                 'target_portal': '10.0.0.1:3260'}
        paths = {'driver_volume_type': 'iscsi', 'data': {
            'target_iqn': 'iqn.x:volume-c', 'target_portal': '10.0.0.1:3260',
            'target_iqns': ['iqn.x:volume-c'] * 2,
            'target_portals': ['10.0.0.1:3260', '10.0.1.1:3260']}}
        self.http.get(f'{URL}/attachments/detail', json={'attachments': [
            {'id': f'a{i}', 'volume_id': 'c', 'status': status,
             'instance': 's', 'attached_at': '', 'detached_at': '',
             'attach_mode': 'rw', 'connection_info': conn}
            for i, (status, conn) in enumerate([
                ('reserved', None), ('reserved', {}), ('attaching', iscsi),
                ('attached', paths), ('attached', {
                    'driver_volume_type': 'rbd', 'name': 'pool/c'})])]})
        found = self.cinder.attachments_of('c')
        asked = parse.parse_qs(self.http.last_request.query)
        self.assertEqual((['1'], ['c']), (asked['all_tenants'],
                                          asked['volume_id']))
        self.assertEqual([0, 0, 1, 2, 0],
                         [len(each.targets) for each in found])
        self.assertEqual((('10.0.0.1:3260', 'iqn.x:volume-c'),),
                         found[2].targets)
        self.assertNotIn('secret', repr(found))

    @ddt.data({'status_code': 200, 'json': {'attachments': []}},
              {'status_code': 404, 'json': {'itemNotFound': {
                  'code': 404, 'message': 'VolumeAttachment a.'}}})
    def test_delete_an_attachment(self, answer):
        self.http.delete(f'{URL}/attachments/a', **answer)
        self.cinder.delete_attachment('a')
        self.assertEqual(1, self.http.call_count)

    @ddt.data({'status_code': 202}, {'status_code': 404, 'json': GONE})
    def test_delete(self, answer):
        self.http.delete(f'{URL}/volumes/v', **answer)
        self.cinder.delete('v')
        self.assertEqual(1, self.http.call_count)


@ddt.ddt
class ErrorTest(Case):

    @ddt.data((400, True), (401, False), (403, False), (404, True),
              (405, False), (409, True))
    @ddt.unpack
    def test_a_no_is_told_from_no_answer(self, code, of_the_volume):
        self.http.post(f'{URL}/volumes/v/action', status_code=code,
                       json=REFUSAL)
        error = self.assertRaises(cinder_errors.Refused, self.cinder.migrate,
                                  'v', 'b@ssd#ssd')
        self.assertIn('must not be migrating', str(error))
        self.assertEqual(of_the_volume, error.of_the_volume)
        self.assertFalse(error.for_now)

    @ddt.data((413, {}, 30), (429, {'Retry-After': '7'}, 7),
              (429, {'Retry-After': '86400'}, 300),
              (429, {'Retry-After': '-1'}, 1),
              (413, {'Retry-After': 'Sun, 22 Nov 2026 06:00:00 GMT'}, 30))
    @ddt.unpack
    def test_too_many_requests(self, code, headers, seconds):
        self.http.post(f'{URL}/volumes/v/action', status_code=code,
                       headers=headers, text='slow down')
        error = self.assertRaises(cinder_errors.Refused, self.cinder.migrate,
                                  'v', 'b@ssd#ssd')
        self.assertTrue(error.for_now)
        self.assertEqual(seconds, error.retry_s)
        self.assertEqual(1, self.http.call_count)

    @ddt.data((401, 'does not accept the token'),
              (403, 'denies access (Policy does'))
    @ddt.unpack
    def test_a_login_without_the_right(self, code, words):
        self.http.get(f'{URL}/volumes/v', status_code=code, json={
            'forbidden': {'code': code, 'message': 'Policy does not allow it.'
                          }})
        error = self.assertRaises(
            cinder_errors.Refused, self.cinder.volume, 'v')
        self.assertIn(words, str(error))
        self.assertEqual(code, error.status)

    def test_what_needs_no_answer_was_not_sent(self):
        """No token, or no endpoint: nothing can have begun."""
        token = ks_fixture.V3Token()
        token.set_project_scope()
        self.http.post(f'{KEYSTONE}/auth/tokens', [
            {'status_code': 401}, {'json': token, 'headers': {
                'X-Subject-Token': 't'}}])
        cinder = volumes.keystone(web.Session(auth=identity.V3Password(
            KEYSTONE, username='u', password='p', user_domain_id='d')))
        for words in 'Keystone refuses the login', 'catalogue does not list':
            error = self.assertRaises(
                cinder_errors.Refused, cinder.migrate, 'v', 'b@ssd#ssd')
            self.assertIn(words, str(error))
            self.assertFalse(error.of_the_volume)

    @ddt.data(['volumev3'], ['volumev3', 'block-storage'])
    def test_no_cinder_in_the_region(self, types):
        token = ks_fixture.V3Token()
        token.set_project_scope()
        for each in types:
            token.add_service(each).add_standard_endpoints(
                public=URL, region='one')
        self.http.post(f'{KEYSTONE}/auth/tokens', json=token,
                       headers={'X-Subject-Token': 't'})
        cinder = volumes.keystone(web.Session(auth=identity.V3Password(
            KEYSTONE, username='u', password='p', user_domain_id='d')),
            region_name='two')
        error = self.assertRaises(cinder_errors.Refused, cinder.volume, 'v')
        self.assertIn('catalogue does not list Cinder', str(error))

    def test_a_wrong_url_is_no_matter_of_the_volume(self):
        self.http.post(f'{URL}/volumes/v/action', status_code=404,
                       json=NOWHERE)
        error = self.assertRaises(cinder_errors.Refused, self.cinder.migrate,
                                  'v', 'b@ssd#ssd')
        self.assertFalse(error.of_the_volume)

    @ddt.data(
        {'status_code': 408}, {'status_code': 500, 'json': {
            'computeFault': {'code': 500, 'message': 'It has crashed.'}}},
        {'status_code': 502, 'text': '<html>Bad Gateway</html>'},
        {'status_code': 504}, {'status_code': 500, 'json': {'error': 'no'}},
        {'exc': requests.exceptions.ConnectTimeout},
        {'exc': requests.exceptions.ReadTimeout},
        {'exc': requests.exceptions.ConnectionError('Connection aborted.')},
        {'exc': requests.exceptions.ChunkedEncodingError})
    def test_no_answer_leaves_open_what_became_of_it(self, answer):
        self.http.post(f'{URL}/volumes/v/action', **answer)
        error = self.assertRaises(errors.CloudError, self.cinder.migrate,
                                  'v', 'b@ssd#ssd')
        self.assertNotIsInstance(error, cinder_errors.Refused)
        self.assertEqual(1, self.http.call_count, 'it asked twice')

    @ddt.data({'status_code': 503},
              {'exc': requests.exceptions.ConnectionError})
    def test_a_question_is_asked_again(self, answer):
        self.http.get(f'{URL}/volumes/v', [
            answer, {'json': {'volume': volume('v')}}])
        self.assertEqual('v', self.cinder.volume('v').id)

    @ddt.data({'text': '<html>Welcome to nginx</html>'}, {'json': []},
              {'json': {'versions': []}, 'status_code': 300})
    def test_it_is_no_cinder(self, answer):
        self.http.get(f'{URL}/volumes/v', **answer)
        error = self.assertRaises(errors.CloudError, self.cinder.volume, 'v')
        self.assertIn('look at the URL', str(error))

    def test_who_cannot_be_reached_is_named(self):
        cinder = volumes.noauth('http://127.0.0.1:1/v3', PROJECT)
        self.http.get('http://127.0.0.1:1/v3/' + PROJECT + '/volumes/v',
                      exc=requests.exceptions.ConnectionError)
        error = self.assertRaises(errors.CloudError, cinder.volume, 'v')
        self.assertIn('http://127.0.0.1:1/', str(error))
        self.assertEqual(5, error.exit_code)

    def test_it_nests_its_reply_too_deeply(self):
        self.http.stop()
        place = self.enterContext(hostile.serving(hostile.say(
            hostile.body(b'[' * 100_000))))
        error = self.assertRaises(
            errors.CloudError, volumes.noauth(
                f'http://{place}/v3', PROJECT).volume, 'v')
        self.assertIn('nested too deeply (HTTP 200)', str(error))

    def test_an_api_that_drips_does_not_keep_us_once_we_are_stopped(self):
        self.http.stop()
        place = self.enterContext(hostile.serving(hostile.BODY))
        stop = threading.Event()
        timer = threading.Timer(0.1, stop.set)
        timer.start()
        self.addCleanup(timer.join)
        with hostile.taking_at_most(self, 1.2):
            error = self.assertRaises(
                errors.CloudError, volumes.noauth(
                    f'http://{place}/v3', PROJECT,
                    stopped=stop.is_set).volume, 'v')
        self.assertIn('we were stopped before it answered', str(error))

    def test_a_password_in_the_url_is_used_and_not_shown(self):
        self.http.stop()
        for answer, why in ((b'', 'does not answer'),
                            (hostile.body(b'<html>'), 'is not one of Cinder')):
            place = self.enterContext(hostile.serving(hostile.say(answer)))
            error = self.assertRaises(
                errors.CloudError, volumes.noauth(
                    f'http://u:s3cr@{place}/v3', PROJECT).volume, 'v')
            self.assertIn(why, str(error))
            self.assertNotIn('s3cr', str(error))

    def test_over_a_real_socket_it_is_heard_when_to_ask_again(self):
        self.http.stop()
        place = self.enterContext(hostile.serving(hostile.say(
            b'HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\n'
            b'Content-Length: 0\r\n\r\n')))
        error = self.assertRaises(
            cinder_errors.Refused, volumes.noauth(
                f'http://{place}/v3', PROJECT).migrate, 'v', 'b@ssd#ssd')
        self.assertEqual(7, error.retry_s)

    def test_an_api_that_hangs_does_not_hang_us(self):
        for said, timeout in (None, 60.0), (7, 7.0):
            asking = Session(timeout=said)
            volumes.keystone(asking)
            self.assertEqual(timeout, asking.timeout)
