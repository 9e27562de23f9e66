# SPDX-License-Identifier: Apache-2.0
"""Malformed replies of Cinder: facts, or an error of one sentence.

Real replies, changed in one place or several, go all the way: through the
inventory to what is planned for and to what is judged forgotten.
"""

import copy
import json
import tempfile

import ddt
import hypothesis
from hypothesis import strategies
import testtools

from serifos.balancer import join
from serifos.balancer.observe import gaps
from serifos.balancer.observe import hindrances
from serifos.balancer.observe import in_flight
from serifos.balancer.recovery import diagnoser
from serifos.cloud import client as volumes
from serifos import errors
from serifos.facts import activity
from serifos.files import documents
from serifos.plan import eligibility
from tests.unit.cloud import test_api_views
from tests.unit.cloud import test_client

A, B = 'a@ssd#ssd', 'b@ssd#ssd'


def nested(depth):
    return json.loads('[' * depth + ']' * depth)


ODD = strategies.sampled_from([
    None, True, False, 0, -1, 1, 10 ** 400, -10 ** 400, float('nan'),
    float('inf'), -float('inf'), 1e308, 5e-324, '', ' ', 'x', 'x' * 5000,
    '../x', '/etc/passwd', 'a\0b', 'a\nb', '\ud800', 'nan', '1e400',
    '9' * 5000, '1e20', 'infinite', 'unknown', 'auto', '2026-13-45', '<in> 5',
    '>= ' + '9' * 400, [], [None], [5], {}, {'x': None}, {'x': {'y': []}},
    nested(300), 'target:v', 'target:', 'deleting', 'migration src for v'])


def replies():
    """What each path answers; v is on its way from a to b."""
    volume = test_client.volume
    return copy.deepcopy({
        '/scheduler-stats/get_pools': {'pools': [
            {'name': name, 'capabilities': {**test_api_views.CAPABILITIES,
                                            'serifos_device': name}}
            for name in (A, B)]},
        '/os-services': {'services': [
            {'binary': 'cinder-volume', 'host': host, 'zone': 'nova',
             'status': 'enabled', 'state': 'up', 'backend_state': 'up',
             'updated_at': '2026-11-21T06:17:36', 'frozen': False}
            for host in ('a@ssd', 'b@ssd')]},
        '/volumes/detail': {'volumes': [
            volume('u', attachments=[{'server_id': 's',
                                      'device': '/dev/vdb'}]),
            volume('v', migration_status='migrating', status='maintenance',
                   **{'os-vol-host-attr:host': A}),
            volume('w', migration_status='target:v'),
            volume('x', migration_status='deleting', status='deleting',
                   description='migration src for u')]},
        '/snapshots': {'snapshots': [{'id': 's', 'volume_id': 'u'}]},
        '/types': {'volume_types': [
            {'id': 't', 'name': 'gold', 'qos_specs_id': 'q', 'extra_specs': {
                'volume_backend_name': 'ssd', 'free_capacity_gb': '>= 5',
                'capabilities:vendor_name': '<in> Open',
                'serifos:max_latency_us': '5000'}}]},
        '/qos-specs': {'qos_specs': [
            {'id': 'q', 'specs': {'total_iops_sec': '500'}}]},
        '/volumes/v': {'volume': volume('v')}})


class Client:
    """Cinder's client, as far as it asks: each path has its reply."""

    def __init__(self, said):
        self.client, self._said = self, said

    def get(self, url, **retries):
        return None, self._said[url.partition('?')[0]]

    def get_endpoint(self):
        return 'http://serifos:secret@cinder:8776/v3'


def places(doc, path=()):
    """The path of every value in a document."""
    yield path
    for key, value in (doc.items() if isinstance(doc, dict) else
                       enumerate(doc) if isinstance(doc, list) else ()):
        yield from places(value, (*path, key))


def put(doc, path, value):
    """Sets a value, or removes it where that is ``...``."""
    *above, last = path
    for key in above:
        doc = doc[key]
    if value is not ...:
        doc[last] = value
    elif isinstance(doc, dict):
        del doc[last]
    else:
        doc.append(copy.deepcopy(doc[last]))


WHERE = [path for path in places(replies()) if path]


@strategies.composite
def changed(draw):
    said = replies()
    for _ in range(draw(strategies.integers(1, 4))):
        path = draw(strategies.sampled_from(WHERE))
        value = draw(strategies.one_of(strategies.just(...), ODD))
        try:
            put(said, path, value)
        except (AttributeError, LookupError, TypeError):
            continue
    return {**{path: {} for path in replies()}, **said}


def observed():
    return activity.Observed(1.8e9, {
        name: activity.Activity(None, 1000, 40, 1000, 1000)
        for name in 'uvwx'},
        {A: 1.7e9}, {}, {})


class HostileTest(testtools.TestCase):

    @hypothesis.settings(
        deadline=None, max_examples=30, derandomize=True, database=None,
        suppress_health_check=[hypothesis.HealthCheck.too_slow])
    @hypothesis.given(changed())
    def test_nouns_or_one_sentence(self, said):
        cinder = volumes.Cinder(Client(said))
        for ask in (self.all_the_way, lambda c: c.volume('v'),
                    lambda c: c.halves('v'),
                    lambda c: c.attachments()):
            try:
                ask(cinder)
            except errors.SerifosError as exc:
                self.assertNotIn('\n', str(exc))
                self.assertNotIn('secret', str(exc))

    @staticmethod
    def all_the_way(cinder):
        inventory = cinder.inventory()
        told = observed()
        cluster = join.cluster(inventory, told, ('intel',),
                               eligibility.Rules())
        for unread in inventory.unread:
            assert len(unread.sentence()) < 1500, unread
        list(gaps(inventory, told, cluster))
        list(hindrances(inventory, cluster, ('intel',), 2))
        for found in diagnoser.unconfirmed(
                inventory, told, 1.8e9, {}, (), float):
            found.sentence(), found.plan()
        with tempfile.NamedTemporaryFile() as file:
            documents.write_cluster(file.name, cluster)
            assert documents.read_cluster(file.name) is not None


@ddt.ddt
class UnreadTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.said = replies()
        self.volumes = self.said['/volumes/detail']['volumes']
        self.volumes[1].update(migration_status='success',
                               status='available')
        del self.volumes[2:]

    def look(self):
        inventory = volumes.Cinder(Client(self.said)).inventory()
        return inventory, join.cluster(
            inventory, observed(), ('intel',), eligibility.Rules())

    def test_all_can_be_read(self):
        inventory, cluster = self.look()
        self.assertEqual((), inventory.unread)
        self.assertEqual([70.0, 70.0], [p.free_gib for p in cluster.pools])

    @ddt.data(
        {'size': float('nan')}, {'size': -1}, {'size': 10 ** 400},
        {'size': '10'}, {'size': None}, {'id': '../v'}, {'id': 5},
        {'id': None}, {'updated_at': 'yesterday'}, {'created_at': 5},
        {'created_at': None, 'updated_at': None},
        {'metadata': ['x']}, {'metadata': {'serifos:pin': ['x']}},
        {'status': None}, {'attachments': 5}, {'description': 5},
        {'encrypted': 'maybe'}, {'volume_type': ['gold']})
    def test_a_volume_is_left_out_and_its_pool_takes_no_more(self, change):
        self.volumes[0].update(change)
        inventory, cluster = self.look()
        self.assertEqual(['v'], [r.id for r in inventory.records])
        unread, = inventory.unread
        self.assertIn(next(iter(change)), unread.sentence())
        self.assertIn('b@ssd#ssd', unread.sentence())
        self.assertEqual({A: (70.0, None),
                          B: (0.0, 'a volume there cannot be read')},
                         {p.name: (p.free_gib, p.space_unknown)
                          for p in cluster.pools})
        self.assertEqual([], list(in_flight(inventory)))

    @ddt.data({'migration_status': 5, 'size': 1},
              {'migration_status': 'migrating', 'size': None},
              {'os-vol-host-attr:host': [5]})
    def test_nothing_is_moved_beside_one_that_may_be_on_its_way(self, change):
        self.volumes[0].update(change)
        inventory, _ = self.look()
        why, = in_flight(inventory)
        self.assertIn('u', why)

    def test_a_volume_that_is_listed_twice(self):
        self.volumes.append(dict(self.volumes[0]))
        self.assertEqual((), self.look()[0].unread)
        self.volumes[-1]['os-vol-host-attr:host'] = A
        inventory, cluster = self.look()
        self.assertEqual(['v'], [r.id for r in inventory.records])
        self.assertEqual({A: 0.0, B: 0.0},
                         {p.name: p.free_gib for p in cluster.pools})

    @ddt.data({'total_capacity_gb': [5]}, {'total_capacity_gb': '1e400'},
              {'total_capacity_gb': -1}, {'free_capacity_gb': 'nan'},
              {'free_capacity_gb': float('inf')},
              {'reserved_percentage': 1e308},
              {'max_over_subscription_ratio': {}, 'thin_provisioning_support':
               True}, {'volume_backend_name': 5},
              {'serifos_model': ['intel']}, {'serifos_device': {}})
    def test_a_pool_is_left_out(self, change):
        pools = self.said['/scheduler-stats/get_pools']['pools']
        pools[1]['capabilities'].update(change)
        inventory, cluster = self.look()
        self.assertEqual([A], [p.name for p in inventory.pools])
        self.assertIn(next(iter(change)), inventory.unread[0].sentence())
        self.assertEqual('not known to the scheduler',
                         cluster.pool(B).state)

    def test_volumes_of_a_type_that_cannot_be_read_stay(self):
        self.said['/types']['volume_types'][0]['extra_specs'] = {'x': []}
        self.said['/snapshots']['snapshots'] = []
        for volume in self.volumes:
            volume.update(attachments=[], metadata={})
        _, cluster = self.look()
        self.assertEqual({'its volume type cannot be read'},
                         {v.movable for v in cluster.volumes})

    def test_no_copy_is_deleted_beside_a_volume_that_cannot_be_read(self):
        self.said = replies()
        self.said['/volumes/detail']['volumes'][2]['size'] = None
        inventory, _ = self.look()
        found = diagnoser.unconfirmed(
            inventory, observed(), 1.8e9, {}, (), float)
        self.assertEqual([False, False], [v.forgotten for v in found])
        self.assertIn('may be its copy', found[1].why)

    def test_halves_of_others_may_be_broken(self):
        self.volumes[0].update(size=None, migration_status='deleting')
        cinder = volumes.Cinder(Client(self.said))
        self.assertEqual((), cinder.halves('v'))
        self.volumes[0].update(description='migration src for v')
        error = self.assertRaises(errors.CloudError, cinder.halves, 'v')
        self.assertIn('volume u', str(error))


@ddt.ddt
class TextTest(test_client.Case):
    """The JSON itself; cinderclient parses it."""

    URL = f'{test_client.URL}/volumes/v'

    @ddt.data('[' * 200_000, '{"volume": ' + '[' * 200_000,
              '{"volume": {"size": ' + '9' * 5000 + '}}', '5', 'null', '"x"',
              '{"volume": 5}', '{}', '\xff')
    def test_one_sentence_names_the_host(self, text):
        self.http.get(self.URL, content=text.encode('latin-1'))
        error = self.assertRaises(errors.CloudError, self.cinder.volume, 'v')
        self.assertTrue('cinder:8776' in str(error)
                        or 'for volume v' in str(error), error)

    @ddt.data('NaN', '1e400', '-1', '"1"', '1' + '0' * 400, 'Infinity')
    def test_a_size_that_is_none(self, size):
        text = json.dumps({'volume': test_client.volume('v', size='@')})
        self.http.get(self.URL, text=text.replace('"@"', size))
        error = self.assertRaises(errors.CloudError, self.cinder.volume, 'v')
        self.assertIn('its size', str(error))

    def test_pages_that_do_not_end(self):
        self.everything()
        page = {'volumes': [test_client.volume('u')],
                'volumes_links': [{'rel': 'next', 'href': 'x'}]}
        self.http.get(f'{test_client.URL}/volumes/detail', json=page)
        error = self.assertRaises(errors.CloudError, self.cinder.inventory)
        self.assertIn('pages of volumes do not end', str(error))
        self.assertEqual(2, len(self.questions('/volumes/detail')))

    def test_pages_of_ever_new_items(self):
        names = iter(range(10 ** 9))

        class Endless(Client):
            def get(self, url, **retries):
                if not url.startswith('/snapshots'):
                    return super().get(url)
                return None, {'snapshots': [
                    {'id': str(next(names)), 'volume_id': 'v'}
                    for _ in range(500)], 'snapshots_links': ['x']}
        error = self.assertRaises(
            errors.CloudError,
            volumes.Cinder(Endless(replies()), most=2000).inventory)
        self.assertIn('2000 items', str(error))

    def test_a_link_behind_the_last_page(self):
        self.everything()
        self.http.get(f'{test_client.URL}/volumes/detail', [
            {'json': {'volumes': [test_client.volume('u')],
                      'volumes_links': ['x']}},
            {'json': {'volumes': [], 'volumes_links': ['x']}}])
        self.assertEqual(1, len(self.cinder.inventory().records))
