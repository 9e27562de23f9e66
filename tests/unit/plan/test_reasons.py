# SPDX-License-Identifier: Apache-2.0
"""Every reason that the code gives is of a kind that can be counted."""

import ddt
from hypothesis import given
from hypothesis import settings
import testtools

from serifos.balancer import pace
from serifos.facts.cluster import Cluster
from serifos.facts.cluster import TOUCHED
from serifos.facts.inventory import Record
from serifos.facts import refusals
from serifos.facts.refusals import Code
from serifos.facts.refusals import code
from serifos.facts.refusals import Reason
from serifos.facts.servers import Server
from serifos.facts.servers import Servers
from serifos.facts import settings as said
from serifos.plan import eligibility
from serifos.plan.limits import shortfall
from serifos.plan.limits import target_refusal
from serifos.plan.plan import Move
from serifos.plan.plan import Refusal
from serifos.plan import relieve
from tests.fakes.settings import Limits
from tests.unit.plan import clusters

NOVA = Servers(
    {'s': Server('s', 'web', 'ACTIVE', 'active', host='c1'),
     'off': Server('off', 'web', 'SHUTOFF', 'stopped', host='c1'),
     'cell': Server('cell', 'web', 'UNKNOWN'),
     'busy': Server('busy', 'web', 'REBOOT', 'active', 'rebooting'),
     'dark': Server('dark', 'web', 'ACTIVE', 'active', off='NOSTATE'),
     'lost': Server('lost', 'web', 'ACTIVE', 'active')})


def _record(**facts):
    return Record('v', 5, facts.pop('status', 'available'), 'a@s#s',
                  **facts)


def _in_use(*servers):
    return _record(status='in-use', attachments=servers)


@ddt.ddt
class KindTest(testtools.TestCase):

    def told(self, reason, words):
        """It is of a kind, by its code."""
        self.assertIn(words, refusals.kind(reason), reason)
        self.assertIn(reason.code, set(Code))

    @ddt.data(
        (_record(migration_status='migrating'), {}, 'migrated already'),
        (_record(status='error'), {}, 'neither available'),
        (_record(snapshots=1), {}, 'snapshots'),
        (_record(snapshots=4), {}, 'snapshots'),
        (_record(group_id='g'), {}, 'group'),
        (_record(replication_status='enabled'), {}, 'replicated'),
        (_record(encrypted=True, status='in-use'), {},
         'encrypted and in use'),
        (_record(metadata={eligibility.PIN: 'yes'}), {}, 'pins'),
        (_record(project_id='p'), {'excluded_projects': {'p'}}, 'excluded'),
        (_record(), {'balance': False}, 'not opted in'),
        (_record(), {'kind': said.TypeSettings('gold', False)},
         'type is left out'),
        (_record(), {'kind': said.TypeSettings(
            'gold', faults=('serifos:balance 2 is wrong',))},
         'cannot be used'),
        (_record(), {'back_off_until': {'v': 9e9}}, 'failed or was refused'),
        (_record(), {'moved_at': {'v': 1e9}, 'cool_down_s': 9e9},
         'a short time ago'),
        (_in_use('s'), {'allow_attached': False}, 'are to stay'),
        (_in_use('s'), {}, 'no Nova to ask'),
        (_in_use(), {}, 'without attachment'),
        (_in_use('s', 'u'), {}, 'several servers'),
        (_in_use(''), {}, 'a host itself'),
        (_in_use('s'), {'servers': Servers(problem='503')},
         'does not answer'),
        (_in_use('gone'), {'servers': NOVA}, 'does not list'),
        (_in_use('off'), {'servers': NOVA}, 'is stopped'),
        (_in_use('cell'), {'servers': NOVA}, 'state or host'),
        (_in_use('busy'), {'servers': NOVA}, 'under way'),
        (_in_use('dark'), {'servers': NOVA}, 'does not run'),
        (_in_use('lost'), {'servers': NOVA}, 'state or host'),
        (_in_use('s'), {'servers': NOVA}, 'nova-compute'))
    @ddt.unpack
    def test_what_holds_a_volume(self, record, rules, words):
        reason = eligibility.why_not(
            record, eligibility.Rules(**rules), 2e9)
        self.told(reason, words)

    @ddt.data(
        ({'state': 'down'}, 'a pool is down'),
        ({'state': 'without a service'}, 'a pool is down'),
        ({'state': 'not known to the scheduler'}, 'a pool is down'),
        ({'state': 'disabled'}, 'disabled'), ({'state': 'frozen'}, 'frozen'),
        ({'state': 'without fresh telemetry'}, 'no fresh telemetry'),
        ({'state': TOUCHED}, 'stuck migration'),
        ({'balance': False}, 'left out of balancing'),
        ({'drifting': 'twice as slow'}, 'drifts'), ({'zone': 'b'}, 'zone'),
        ({'backend_name': 'hdd'}, 'another backend'),
        ({'refuses': ('gold',)}, 'does not meet its type'))
    @ddt.unpack
    def test_what_bars_a_pool(self, facts, words):
        pool = clusters.pool('n1@s#s', **{
            'backend_name': 'ssd', 'zone': 'a', **facts})
        self.told(target_refusal('a', 'ssd', 'gold', pool), words)

    @ddt.data((Limits(), 'free space there'),
              (Limits(max_fill=0.5), '[balancer] max_fill'),
              (Limits(capacity_horizon_s=1e6), 'capacity_horizon'))
    @ddt.unpack
    def test_a_pool_without_space(self, limits, mend):
        reason = limits.no_room(
            clusters.pool('n1', growth_gib_day=3.0), 1.5, 60)
        self.told(reason, 'has no space')
        self.assertIn(mend, refusals.remedy(reason))

    @ddt.data((10, 11), (10, 10), (10, 9.5))
    @ddt.unpack
    def test_a_move_that_brings_too_little(self, before_us, after_us):
        reason = shortfall(before_us, after_us, 0.1)
        self.told(reason, '')

    def test_a_volume_that_is_larger_than_its_pace(self):
        found = pace.Pace(max_gib_per_day=5).bounded(Cluster(
            (clusters.pool('a'),), (clusters.volume('v', 'a'),)))
        self.told(found.volumes[0].movable, 'larger')

    @given(clusters.clusters())
    @settings(deadline=None, max_examples=30)
    def test_whatever_a_plan_refuses(self, cluster):
        plan = clusters.planned(relieve, cluster, Limits(
            every_refusal=True, max_fill=0.9, horizon_s=600.0))
        given = {volume.movable for volume in cluster.volumes}
        for refusal in plan.refused:
            if refusal.reason not in given | {'not movable'}:
                self.told(refusal.reason, '')

    def test_a_reason_of_somebody_else_is_a_kind_of_its_own(self):
        self.assertEqual('Tuesday', refusals.kind('Tuesday'))


class WrittenTest(testtools.TestCase):

    def read(self, **more):
        return Refusal.from_json({
            'volume': 'v', 'reason': 'its pool is not hot', **more})

    def test_a_plan_says_the_code(self):
        doc = Refusal('v', Reason('worded anew', 'not_hot')).to_json()
        self.assertEqual({'volume': 'v', 'reason': 'worded anew',
                          'code': 'not_hot'}, doc)
        self.assertEqual('its pool is not hot', refusals.kind(
            Refusal.from_json(doc).reason))

    def test_a_move_says_its_cause(self):
        cluster = Cluster(tuple(map(clusters.pool, 'ab')), tuple(
            clusters.volume(f'v{i}', 'a', 8 << i) for i in range(4)))
        plan = relieve.plan(cluster, clusters.models_of(cluster), Limits())
        doc = plan.moves[0].to_json()
        self.assertEqual('hot', doc['cause'])
        self.assertEqual(plan.moves[0], Move.from_json(doc))
        self.assertEqual('hot', Move.from_json({
            **doc, 'reason': 'worded anew'}).cause)

    def test_the_code_counts_and_not_the_sentence(self):
        self.assertEqual('its move would gain nothing', refusals.kind(
            self.read(code='no_gain').reason))

    def test_without_a_code_or_with_one_of_a_later_release(self):
        for more, its_code in ({}, None), ({'code': 'new'}, 'new'):
            refusal = self.read(**more)
            self.assertEqual(its_code, refusal.code)
            self.assertEqual({'volume': 'v', 'reason': refusal.reason,
                              **more}, refusal.to_json())

    def test_an_observation_says_the_code(self):
        held = clusters.volume('v', 'a', movable=Reason('held', 'pinned'))
        doc = Cluster((clusters.pool('a'),), (
            held, clusters.volume('w', 'a'))).to_json()
        self.assertEqual('pinned', doc['volumes'][0]['movable_code'])
        self.assertNotIn('movable_code', doc['volumes'][1])
        found = Cluster.from_json(doc).volumes[0].movable
        self.assertEqual(('held', 'pinned'), (found, code(found)))

    def test_a_volume_that_moves_has_no_code(self):
        doc = Cluster((clusters.pool('a'),), (
            clusters.volume('v', 'a'),)).to_json()
        doc['volumes'][0]['movable_code'] = 'pinned'
        self.assertIs(True, Cluster.from_json(doc).volumes[0].movable)
