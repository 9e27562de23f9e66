# SPDX-License-Identifier: Apache-2.0
import dataclasses

import ddt
import testtools

from serifos.balancer import join
from serifos.balancer.observe import gaps
from serifos.balancer.observe import hindrances
from serifos.facts import activity
from serifos.facts.caps import Caps
from serifos.facts.cluster import Cluster
from serifos.facts.cluster import TOUCHED
from serifos.facts.cluster import UNSEEN
from serifos.facts.inventory import Inventory
from serifos.facts.inventory import PoolStats
from serifos.facts.inventory import Record
from serifos.facts.inventory import Service
from serifos.facts.inventory import Type
from serifos.facts.servers import Server
from serifos.facts.servers import Servers
from serifos.facts.workload import Workload
from serifos.plan import eligibility

BUSY = Workload(30, 16, 8, iops=2000, latency_us=4000)
A, B = 'a@ssd#ssd', 'b@ssd#ssd'


def stats(name, **others):
    return PoolStats(name, 100, 50, backend_name='ssd', model='m',
                     capabilities={'volume_backend_name': 'ssd'},
                     **others)


def service(host, **others):
    return Service('cinder-volume', host, zone='nova', **others)


def record(name, pool=A, **others):
    return Record(name, 1, others.pop('status', 'available'), pool=pool,
                  **others)


def inventory(*records, **others):
    return Inventory(
        others.get('pools', (stats(A), stats(B))),
        others.get('services', (service('a@ssd'), service('b@ssd'))),
        records, others.get('types', ()))


def observed(*seen, problems=()):
    return activity.Observed(
        1e9, {name: activity.Activity(BUSY, 600, 40, 0, 0) for name in seen},
        {}, {}, dict.fromkeys(problems, 'node_exporter does not answer.'))


def cluster(found, told, stems=('m',)):
    return join.cluster(found, told, stems, eligibility.Rules())


class PlacesTest(testtools.TestCase):

    def test_with_the_caps_of_their_types(self):
        slow = Type('slow', {}, {'total_iops_sec_per_gb': '30'},
                    'front-end')
        self.assertEqual({'v': Caps(30.0), 'w': None}, {
            place.volume: place.caps for place in join.places(inventory(
                record('v', volume_type='slow'), record('w'),
                record('new', None, volume_type='slow'), types=(slow,)))})


@ddt.ddt
class ClusteredTest(testtools.TestCase):
    """Active-active services, whose pools have the name of the cluster."""

    def pools(self, *services):
        found = cluster(inventory(
            record('v', 'c@ssd#ssd'), pools=(stats('c@ssd#ssd'),),
            services=services), observed('v'))
        return {pool.name: (pool.state, pool.zone) for pool in found.pools}

    @ddt.data(
        ({}, {}, 'up'), ({'up': False}, {}, 'up'), ({}, {'up': False}, 'up'),
        ({'enabled': False}, {}, 'up'), ({'frozen': True}, {}, 'up'),
        ({'up': False}, {'up': False}, 'down'),
        ({'enabled': False}, {'enabled': False}, 'disabled'))
    @ddt.unpack
    def test_a_pool_is_as_the_best_of_its_services(self, one, other, state):
        self.assertEqual({'c@ssd#ssd': (state, 'nova')}, self.pools(
            service('a@ssd', cluster='c@ssd', **one),
            service('b@ssd', cluster='c@ssd', **other)))

    def test_a_driver_that_is_down(self):
        # Cinder reports that of a cluster with its pool alone.
        down = dataclasses.replace(
            stats(A), capabilities={'backend_state': 'down'})
        found = cluster(inventory(pools=(down,)), observed())
        self.assertEqual(['down'], [pool.state for pool in found.pools])


@ddt.ddt
class ClusterTest(testtools.TestCase):

    def test_joins_what_both_say(self):
        gold = Type('gold', {'volume_backend_name': 'ssd',
                             'serifos:max_latency_us': '5000'})
        found = cluster(inventory(
            record('v', volume_type='gold'), types=(gold,)),
            observed('v'))
        volume, = found.volumes
        self.assertEqual(
            (A, 'gold', 'ssd', 5000, True, BUSY),
            (volume.pool, volume.volume_type,
             volume.required_backend_name, volume.max_latency_us,
             volume.movable, volume.workload))
        self.assertEqual(
            [(A, 'up', 'nova', 'm', 50), (B, 'up', 'nova', 'm', 50)],
            [(p.name, p.state, p.zone, p.model, p.free_gib)
             for p in found.pools])
        self.assertEqual('2001-09-09T01:46:40Z', found.observed_at)

    def test_it_says_whose_a_volume_is(self):
        found = join.cluster(
            inventory(*(
                dataclasses.replace(record(volume), name=name, project_id='p',
                                    attachments=servers)
                for volume, name, servers in (
                    ('u', 'db', ('s', 'gone')), ('v', '', ('',)),
                    ('w', 'x' * 9999, ())))),
            observed(), ('m',), eligibility.Rules(servers=Servers(
                {'s': Server('s', 'web1', 'ACTIVE')})))
        self.assertEqual(
            [('db', 'p', 'web1, gone'), (None, 'p', None),
             ('x' * 255, 'p', None)],
            [(v.name, v.project_id, v.server) for v in found.volumes])
        self.assertEqual(found, Cluster.from_json(found.to_json()))

    def test_how_fast_a_copy_is_written(self):
        found = cluster(inventory(
            record('u', migration_status='migrating'),
            record('t', B, migration_status='target:u'), record('v'),
            record('w', migration_status='migrating')),
            observed('t', 'u', 'v'))
        # 2000 requests of 16 KiB, 30 % of them writes
        self.assertEqual(
            {'u': 2000 * 0.3 * 16 / 1024, 'v': None, 'w': None},
            {v.id: v.copy_mib_s for v in found.volumes})

    def test_a_disk_is_found_by_the_volumes_id_or_its_name_id(self):
        found = join.cluster(
            inventory(record('u', name_id='t'), record('v', name_id='s'),
                      record('w')), observed(), ('m',), eligibility.Rules(),
            {'u': 1.0, 't': 2.0, 's': 3.0})
        self.assertEqual([1.0, 3.0, None], [
            volume.qemu_latency_us for volume in found.volumes])

    def test_halves_of_a_migration_are_no_volumes(self):
        found = cluster(inventory(
            record('v', migration_status='migrating'),
            record('t', B, migration_status='target:v'),
            record('old', B, status='deleting', migration_status='deleting',
                   description='migration src for w')), observed('v'))
        self.assertEqual(['v'], [volume.id for volume in found.volumes])
        self.assertEqual('a migration of it is migrating',
                         found.volumes[0].movable)

    def test_an_unseen_volume_has_no_workload(self):
        found = cluster(inventory(record('v')), observed())
        self.assertIsNone(found.volumes[0].workload)

    @ddt.data(
        ({'up': False}, 'down'), ({'backend_up': False}, 'down'),
        ({'enabled': False}, 'disabled'), ({'frozen': True}, 'frozen'))
    @ddt.unpack
    def test_state_of_a_service(self, change, state):
        found = cluster(inventory(record('v'), services=(
            service('a@ssd', **change), service('b@ssd'))), observed('v'))
        self.assertEqual([state, 'up'], [p.state for p in found.pools])

    def test_a_pool_that_the_scheduler_hides_is_there_by_its_volumes(self):
        found = cluster(inventory(
            record('v'), pools=(stats(B),),
            services=(service('a@ssd', enabled=False), service('b@ssd'))),
            observed('v'))
        self.assertEqual([(A, 'disabled', 0), (B, 'up', 50)],
                         [(p.name, p.state, p.free_gib)
                          for p in found.pools])

    def test_a_pool_without_telemetry_is_no_target(self):
        found = cluster(inventory(record('v')), observed(problems=[A]))
        self.assertEqual(UNSEEN, found.pools[0].state)

    def test_a_pool_that_is_partly_seen_stays(self):
        told = dataclasses.replace(
            observed('v', problems=[A]), pools={A: activity.Activity(
                BUSY, 600, 40, 0, 0)})
        found = inventory(record('v'))
        self.assertEqual('up', cluster(found, told).pools[0].state)
        self.assertEqual(
            ['Pool a@ssd#ssd: node_exporter does not answer.'],
            list(gaps(found, told, cluster(found, told))))

    def test_a_model_by_the_name_of_the_pool(self):
        plain = dataclasses.replace(stats(A), model=None)
        found = cluster(inventory(pools=(plain, stats(B))), observed(),
                        stems=(A, 'm'))
        self.assertEqual([A, 'm'], [pool.model for pool in found.pools])

    def test_a_type_that_a_pool_does_not_serve(self):
        fast = Type('fast', {'volume_backend_name': 'nvme'})
        idle = Type('unused', {'volume_backend_name': 'none'})
        found = cluster(inventory(
            record('v', volume_type='fast'), types=(fast, idle)),
            observed('v'))
        self.assertEqual([('fast',), ('fast',)],
                         [pool.refuses for pool in found.pools])

    def test_free_space_that_cinder_has_not_noticed_yet(self):
        full = dataclasses.replace(stats(A), total_gib=50)
        thin = dataclasses.replace(stats(B), total_gib=50, thin=True)
        found = cluster(inventory(
            record('v'), record('w', B),
            record('t', migration_status='target:w'), pools=(full, thin)),
            observed('v', 'w'))
        self.assertEqual([48, 50], [pool.free_gib for pool in found.pools])

    def test_a_volume_of_which_a_copy_was_left_stays(self):
        found = cluster(inventory(
            record('v', migration_status='error'), record('w'),
            record('t', B, migration_status='target:v')), observed('v', 'w'))
        self.assertEqual(
            ['a half-made copy of it was left', True],
            [volume.movable for volume in found.volumes])

    def test_the_copies_of_migrations_take_space(self):
        found = cluster(inventory(
            record('v'), record('w', B, status='deleting',
                                description='migration src for v'),
            record('t', B, migration_status='target:v')), observed('v'))
        self.assertEqual([0, 2], [pool.copies_gib for pool in found.pools])

    @ddt.data((2.0, 2.0), (-3.0, 0.0), (5000.0, 1780.0))
    @ddt.unpack
    def test_a_thin_pool_takes_what_can_be_written_there(self, left, free):
        thin = dataclasses.replace(stats(A), thin=True, free_gib=1780.0,
                                   unwritten_gib=left)
        found = cluster(inventory(record('v'), pools=(thin,)), observed('v'))
        self.assertEqual([free], [pool.free_gib for pool in found.pools])

    @ddt.data((False, 30.0, 30.0), (False, 0.5, 2.0), (True, 0.5, 0.5),
              (True, None, None), (False, None, None))
    @ddt.unpack
    def test_what_is_used_of_a_pool(self, thin, said, used):
        told = dataclasses.replace(stats(A), thin=thin, used_gib=said)
        found = cluster(inventory(
            record('v'), record('w'), pools=(told,)), observed('v'))
        self.assertEqual([used], [pool.used_gib for pool in found.pools])

    @ddt.data('soon', '-1', '0', 'inf', 'nan')
    def test_an_slo_that_is_no_figure_slos_nothing(self, text):
        kind = Type('gold', {'serifos:max_latency_us': text})
        found = cluster(inventory(
            record('v', volume_type='gold'), types=(kind,)), observed('v'))
        self.assertIsNone(found.volumes[0].max_latency_us)
        self.assertIn('of its volume type gold, serifos:max_latency_us',
                      found.volumes[0].movable)

    def test_a_type_that_is_left_out(self):
        kinds = (Type('gold', {'serifos:balance': 'false'}),
                 Type('tin', {'serifos:balance': 'true'}))
        its = inventory(record('u', volume_type='gold'), record(
            'v', volume_type='tin'), record('w'), types=kinds)
        for balance, movable in ((True, [False, True, True]),
                                 (False, [False, True, False])):
            found = join.cluster(its, observed(*'uvw'), ('m',),
                                 eligibility.Rules(balance=balance))
            self.assertEqual(movable, [
                volume.movable is True for volume in found.volumes])

    def test_a_type_with_a_cool_down_of_its_own(self):
        kind = Type('gold', {'serifos:cool_down': '50'})
        its = inventory(record('u', volume_type='gold'), record('v'),
                        types=(kind,))
        for cool_down_s, movable in (100, [True, False]), (0, [True, True]):
            found = join.cluster(
                its, observed(*'uv'), ('m',), eligibility.Rules(
                    cool_down_s=cool_down_s,
                    moved_at=dict.fromkeys('uv', 1e9 - 75)))
            self.assertEqual(movable, [
                volume.movable is True for volume in found.volumes])

    def test_what_a_pool_says(self):
        told = dataclasses.replace(stats(A), capabilities={
            'serifos_balance': 'false', 'serifos_max_fill': 0.7,
            'serifos_hot_ratio': '1.5'})
        found = cluster(inventory(record('v'), pools=(told, stats(B))),
                        observed('v'))
        self.assertEqual([(False, 0.7, 1.5), (True, None, None)], [
            (pool.balance, pool.max_fill, pool.hot_ratio)
            for pool in found.pools])

    def test_what_a_type_asks_of_a_move(self):
        its = inventory(
            record('v', volume_type='gold'), record('w'), types=(
                Type('gold', {'serifos:min_gain': '0.3'}),))
        found = cluster(its, observed('v', 'w'))
        self.assertEqual({'v': 0.3, 'w': None}, {
            volume.id: volume.min_gain for volume in found.volumes})
        self.assertEqual(found, Cluster.from_json(found.to_json()))

    def test_what_cannot_be_used_is_told(self):
        told = dataclasses.replace(
            stats(A), capabilities={'serifos_balance': 'half'})
        its = inventory(record('v'), pools=(told, stats(B)), types=(
            Type('gold', {'serifos:balance': 'half'}),))
        self.assertEqual(2, sum("balance 'half' is neither" in sentence
                                for sentence in gaps(
                                    its, observed('v'), cluster(
                                        its, observed('v')))))


@ddt.ddt
class HindrancesTest(testtools.TestCase):

    def hindrances(self, found, told, stems=('m',)):
        return list(hindrances(
            found, cluster(found, told, stems), stems, 2))

    def test_nothing_in_the_way(self):
        self.assertEqual([], self.hindrances(
            inventory(record('v')), observed('v')))

    @ddt.data(
        (record('v', migration_status='starting'), 'v on a@ssd#ssd is being'),
        (record('v', status='deleting', description='migration src for w'),
         'old copy of volume w on a@ssd#ssd is deleting'))
    @ddt.unpack
    def test_a_migration_in_flight(self, one, said):
        found, = self.hindrances(inventory(one), observed('v'))
        self.assertIn(said, found)

    @ddt.data((A, True, 1), (B, True, 0), (A, False, 0))
    @ddt.unpack
    def test_a_pool_that_is_down_with_volumes_in_it(self, pool, enabled,
                                                    count):
        others = tuple(service(f'{name}@ssd', up=f'{name}@ssd#ssd' != pool,
                               enabled=enabled or f'{name}@ssd#ssd' != pool)
                       for name in 'abc')
        found = self.hindrances(inventory(
            record('v'), services=others,
            pools=(stats(A), stats(B), stats('c@ssd#ssd'))), observed('v'))
        self.assertEqual(
            [f'Pool {pool} is down.'][:count], found)

    @ddt.data(((), ('m',), 2), ((A,), ('m',), 1), ((), (), 0))
    @ddt.unpack
    def test_moves_need_two_pools(self, problems, stems, lively):
        found = self.hindrances(
            inventory(record('v')), observed('v', problems=problems), stems)
        self.assertEqual(
            [] if lively == 2 else
            [f'{lively} of 2 pools are up, seen by telemetry and have a '
             'model; moves need 2.'], found)

    def test_pools_of_a_stuck_migration_are_counted(self):
        found = cluster(inventory(record('v')), observed('v'))
        touched = dataclasses.replace(found, pools=tuple(
            dataclasses.replace(pool, state=TOUCHED)
            for pool in found.pools))
        said, = hindrances(
            inventory(record('v')), touched, ('m',), 2)
        self.assertEqual(
            '0 of 2 pools are up, seen by telemetry and have a model, 2 are '
            'touched by a stuck migration; moves need 2.', said)

    def test_gaps_are_named(self):
        found = inventory(record('v'), pools=(
            dataclasses.replace(stats(A), model=None),
            dataclasses.replace(stats(B), model='../gone')))
        told = observed('v')
        self.assertEqual([
            'Pool a@ssd#ssd is left out: it names no model; set '
            'serifos_model in its extra_capabilities.',
            "Pool b@ssd#ssd is left out: it names a model '../gone', a name "
            'that begins with a dot.'],
            list(gaps(found, told, cluster(found, told))))
