# SPDX-License-Identifier: Apache-2.0
"""The client of Nova, with replies in the shapes of nova-api 34.0.0."""

from urllib import parse

import ddt
from keystoneauth1 import noauth
import requests
from requests_mock.contrib import fixture
import testtools

from serifos.cloud import nova
from serifos.facts.servers import Doings
from serifos.facts import times
from serifos import web

URL = 'http://nova:8774/v2.1'
GONE = {'itemNotFound': {
    'code': 404, 'message': 'Instance gone could not be found.'}}
DOWN = {'binary': 'nova-compute', 'host': 'compute2', 'status': 'UNKNOWN'}


def server(name, **others):
    return {
        'id': name, 'name': f'{name}-vm', 'status': 'ACTIVE',
        'tenant_id': 'ad' * 16, 'metadata': {}, 'locked': False,
        'OS-EXT-STS:vm_state': 'active', 'OS-EXT-STS:task_state': None,
        'OS-EXT-STS:power_state': 1, 'OS-EXT-SRV-ATTR:host': 'compute1',
        'os-extended-volumes:volumes_attached': [
            {'id': 'v', 'delete_on_termination': False}], **others}


def service(host, **others):
    return {'id': f'id-{host}', 'binary': 'nova-compute', 'host': host,
            'zone': 'nova', 'status': 'enabled', 'state': 'up',
            'disabled_reason': None, 'forced_down': False, **others}


@ddt.ddt
class NovaTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.http = self.useFixture(fixture.Fixture())
        self.nova = nova.Nova(web.Session(auth=noauth.NoAuth()),
                              endpoint_override=URL)
        self.serve([server('s')], [service('compute1')])

    def serve(self, servers, services, page=2, down=()):
        """Answers as Nova with ``max_limit = page``.

        :param down: servers of a cell that is down
        """
        def answer(request, context):
            query = parse.parse_qs(request.query)
            names = [each['id'] for each in servers]
            marker = query.get('marker', [None])[0]
            begin = names.index(marker) + 1 if marker else 0
            found = servers[begin:begin + page]
            if [*query] == ['all_tenants']:
                found = [{'id': name, 'status': 'UNKNOWN', 'tenant_id': 't',
                          'created': '2026-01-01T00:00:00Z', 'links': []}
                         for name in down][:page - len(found)] + found
            return {'servers': found}
        self.http.get(f'{URL}/servers/detail', json=answer)
        for each in servers:
            self.http.get(f'{URL}/servers/{each["id"]}',
                          json={'server': each})
        self.http.get(f'{URL}/os-services', json={'services': services})

    def test_all_pages_of_all_projects(self):
        self.serve([server(name) for name in 'abcde'],
                   [service('compute1'), service('compute2', state='down')])
        found = self.nova.servers()
        self.assertEqual([*'abcde'], [*found.by_id])
        self.assertEqual('a-vm', found.by_id['a'].name)
        self.assertEqual('compute1', found.by_id['a'].host)
        self.assertIsNone(found.problem)
        self.assertEqual({'compute1': True, 'compute2': False}, {
            name: each.up for name, each in found.services.items()})
        asked = parse.parse_qs(self.http.request_history[0].query)
        self.assertEqual(['1'], asked['all_tenants'])
        self.assertEqual('compute 2.89', self.http.request_history[0].headers[
            'OpenStack-API-Version'])

    def test_power_states(self):
        self.serve([server(f's{state}', **{
            'OS-EXT-STS:power_state': state}) for state in (0, 1, 3, 4, 6, 7)],
            [], page=9)
        self.assertEqual(
            ['NOSTATE', None, None, 'SHUTDOWN', 'CRASHED', None],
            [one.off for one in self.nova.servers().by_id.values()])

    def test_a_service_that_is_forced_down_is_down(self):
        self.serve([], [service('compute1', forced_down=True)])
        self.assertFalse(self.nova.servers().services['compute1'].up)

    @ddt.data([], [*'a'], [*'abcde'])
    def test_servers_of_a_cell_that_is_down(self, others):
        """They have no state; those that answer are listed by pages."""
        self.serve([server(name) for name in others], [DOWN], page=4,
                   down=('s', 't'))
        found = self.nova.servers()
        self.assertIsNone(found.problem)
        self.assertEqual({*others}, {
            name for name, each in found.by_id.items() if each.vm_state})
        self.assertFalse(found.services['compute2'].up)
        if len(others) < 4:
            down = found.by_id['s']
            self.assertEqual(('s', 'UNKNOWN', None),
                             (down.name, down.status, down.vm_state))

    def test_one_that_may_be_in_a_cell_that_is_down(self):
        """It does not count as gone."""
        self.serve([], [DOWN], down=('gone',))
        self.http.get(f'{URL}/servers/gone', status_code=404, json=GONE)
        self.assertIn('a cell of it does not answer',
                      self.nova.server('gone').problem)

    def test_one_server(self):
        found = self.nova.server('s')
        self.assertEqual('active', found.by_id['s'].vm_state)
        self.assertTrue(found.services['compute1'].up)

    def test_one_that_is_gone(self):
        self.http.get(f'{URL}/servers/gone', status_code=404, json=GONE)
        found = self.nova.server('gone')
        self.assertEqual(({}, None), (found.by_id, found.problem))

    def test_one_of_another_project(self):
        """Nova shows it only to an administrator, and lists it."""
        self.serve([server('s'), server('gone')], [])
        self.http.get(f'{URL}/servers/gone', status_code=404, json=GONE)
        found = self.nova.server('gone')
        self.assertEqual(['gone'], [*found.by_id])
        asked = parse.parse_qs(self.http.request_history[1].query)
        self.assertEqual((['gone'], ['1']),
                         (asked['uuid'], asked['all_tenants']))

    def test_hosts_that_are_hidden(self):
        hidden = server('s')
        del hidden['OS-EXT-SRV-ATTR:host']
        self.serve([hidden], [])
        self.assertIn('policy os_compute_api:os-extended-server-attributes',
                      self.nova.servers().problem)

    def serve_doings(self, *actions):
        at = f'{URL}/servers/s'
        self.http.get(f'{at}/os-instance-actions', json={
            'instanceActions': [{
                'action': name, 'request_id': f'req-{name}',
                'start_time': start, 'message': None, 'updated_at': start}
                for name, start, _ in reversed(actions)]})
        for name, start, events in actions:
            self.http.get(f'{at}/os-instance-actions/req-{name}', json={
                'instanceAction': {
                    'action': name, 'start_time': start,
                    'events': [{'event': event, 'start_time': start,
                                'finish_time': finish, 'result': result,
                                'host': 'compute1', 'traceback': None}
                               for event, finish, result in events]}})
        self.http.get(f'{at}/os-volume_attachments/v', json={
            'volumeAttachment': {
                'volumeId': 'v', 'serverId': 's', 'device': '/dev/vdb',
                'attachment_id': 'a', 'bdm_uuid': 'b', 'tag': None,
                'delete_on_termination': False}})

    def test_what_was_done_with_a_server(self):
        self.serve_doings(
            ('create', '2026-01-01T00:00:00.000000', []),
            ('swap_volume', '2026-01-02T00:00:00.000000', [
                ('compute_swap_volume', None, None)]),
            ('reboot', '2026-01-02T00:10:00.000000', [
                ('compute_reboot_instance', '2026-01-02T00:11:00.000000',
                 'Error')]))
        since = times.parse('2026-01-01T23:00:00Z')
        found = self.nova.doings('s', 'v', since)
        self.assertIsNone(found.problem)
        swap, reboot = found.actions
        self.assertEqual(('swap_volume', None, False), (
            swap.name, swap.ended_at, swap.failed))
        self.assertEqual((since + 4260, True), (reboot.ended_at,
                                                reboot.failed))
        self.assertEqual(('a', '/dev/vdb'), (found.attachment_id,
                                             found.device))

    def test_a_volume_that_the_server_does_not_use(self):
        self.serve_doings()
        self.http.get(f'{URL}/servers/s/os-volume_attachments/v',
                      status_code=404, json={'itemNotFound': {
                          'code': 404, 'message':
                          'Instance s is not attached to volume v'}})
        self.assertEqual(Doings(), self.nova.doings('s', 'v', 0.0))

    def test_a_server_whose_actions_nova_does_not_show(self):
        self.http.get(f'{URL}/servers/gone/os-instance-actions',
                      status_code=404, json=GONE)
        self.assertIn('shows no actions',
                      self.nova.doings('gone', 'v', 0.0).problem)

    def test_an_account_that_may_not_read_actions(self):
        self.http.get(f'{URL}/servers/s/os-instance-actions',
                      status_code=403, json={})
        self.assertIn('Nova denies access',
                      self.nova.doings('s', 'v', 0.0).problem)

    @ddt.data(
        ({'status_code': 403, 'headers': {'Content-Type': 'application/json'},
          'json': {'forbidden': {'code': 403, 'message': 'Policy does not.'}}},
         'Nova denies access (Policy does not. (HTTP 403)'),
        ({'status_code': 500}, 'Nova does not answer'),
        ({'status_code': 500, 'text': '[' * 100_000}, 'Nova does not answer'),
        ({'exc': requests.exceptions.ConnectTimeout}, 'Nova does not answer'),
        ({'text': 'hello'}, 'not one of Nova\'s API'),
        ({'json': {'servers': 3}}, 'not one of Nova\'s API'),
        ({'json': {'servers': [{'id': 7}]}}, 'not one of Nova\'s API'),
        ({'json': {'servers': [server('s')]}}, 'do not end'))
    @ddt.unpack
    def test_what_goes_wrong_is_one_clause(self, answer, words):
        self.http.get(f'{URL}/servers/detail', **answer)
        problem = self.nova.servers().problem
        self.assertIn(words, problem)
        self.assertFalse(problem.endswith('.'))
        self.assertNotIn('\n', problem)
