# SPDX-License-Identifier: Apache-2.0
import dataclasses

import ddt
import testtools

from serifos.facts.inventory import Record
from serifos.facts import settings
from serifos.plan import eligibility

NOW = 1_800_000_000.0
FREE = Record('v', 1, 'available', pool='a@ssd#ssd', project_id='p')


@ddt.ddt
class WhyNotTest(testtools.TestCase):

    @ddt.data(
        {}, {'migration_status': 'success'}, {'migration_status': 'error'},
        {'migration_status': 'none'}, {'replication_status': 'disabled'},
        {'metadata': {'serifos:pin': 'false'}})
    def test_may_move(self, change):
        self.assertIsNone(eligibility.why_not(
            dataclasses.replace(FREE, **change), eligibility.Rules(), NOW))

    @ddt.data(
        ({'status': 'error'}, 'its status is error'),
        ({'status': 'maintenance'}, 'its status is maintenance'),
        ({'migration_status': 'migrating'}, 'a migration of it is migrating'),
        ({'migration_status': 'starting'}, 'a migration of it is starting'),
        ({'migration_status': 'completing'}, 'is completing'),
        ({'snapshots': 1}, 'a snapshot holds it'),
        ({'snapshots': 2}, '2 snapshots hold it'),
        ({'group_id': 'g'}, 'it is in a group'),
        ({'replication_status': 'enabled'}, 'its replication is enabled'),
        ({'encrypted': True, 'status': 'in-use', 'attachments': ('s',)},
         'it is encrypted and in use'),
        ({'encrypted': True, 'attachments': ('s',)},
         'it is encrypted and in use'),
        ({'status': 'in-use', 'attachments': ('s',)}, 'attached'),
        ({'attachments': ('s',)}, 'attached'),
        ({'metadata': {'serifos:pin': 'true'}}, 'says serifos:pin'),
        ({'metadata': {'serifos:pin': 'yes'}}, 'says serifos:pin'),
        ({'project_id': 'kept'}, 'its project is excluded'))
    @ddt.unpack
    def test_may_not(self, change, reason):
        rules = eligibility.Rules(excluded_projects=frozenset({'kept'}))
        self.assertIn(reason, eligibility.why_not(
            dataclasses.replace(FREE, **change), rules, NOW) or '')

    def test_encrypted_may_while_it_is_not_in_use(self):
        self.assertIsNone(eligibility.why_not(
            dataclasses.replace(FREE, encrypted=True), eligibility.Rules(),
            NOW))

    def test_attached_may_where_it_is_allowed_and_alone(self):
        rules = eligibility.Rules(allow_attached=True)
        attached = dataclasses.replace(
            FREE, status='in-use', attachments=('s',))
        self.assertIsNone(eligibility.why_not(attached, rules, NOW))
        shared = dataclasses.replace(attached, attachments=('s', 't'))
        self.assertEqual('2 servers share it',
                         eligibility.why_not(shared, rules, NOW))
        alone = dataclasses.replace(attached, multiattach=True)
        self.assertEqual(
            'it is multi-attach and in use: what a second server writes '
            'during the copy would be lost',
            eligibility.why_not(alone, rules, NOW))
        self.assertIsNone(eligibility.why_not(
            dataclasses.replace(FREE, multiattach=True), rules, NOW))
        by_host = dataclasses.replace(attached, attachments=('',))
        self.assertIn('a host itself',
                      eligibility.why_not(by_host, rules, NOW))

    def test_a_cool_down_is_told_where_nothing_else_holds_it(self):
        rules = eligibility.Rules(
            cool_down_s=3600, moved_at={'v': NOW}, allow_attached=False)
        why = eligibility.why_not(FREE, rules, NOW)
        self.assertTrue(eligibility.cools_down(why), why)
        for change in {'snapshots': 1}, {'attachments': ('s',)}:
            why = eligibility.why_not(
                dataclasses.replace(FREE, **change), rules, NOW)
            self.assertFalse(eligibility.cools_down(why), why)
        self.assertFalse(eligibility.cools_down(True))

    @ddt.data((3599, True), (3600, False))
    @ddt.unpack
    def test_cools_down(self, since, stays):
        rules = eligibility.Rules(cool_down_s=3600,
                                  moved_at={'v': NOW - since})
        self.assertEqual(
            stays, bool(eligibility.why_not(FREE, rules, NOW)))

    @ddt.data((0.0, None, False), (0.0, 3600.0, True), (3600.0, 0.0, False),
              (None, 3600.0, False), (None, None, False))
    @ddt.unpack
    def test_the_cool_down_of_a_type(self, usual_s, its_s, stays):
        rules = eligibility.Rules(
            cool_down_s=usual_s, moved_at={'v': NOW - 60},
            kind=settings.TypeSettings('gold', cool_down_s=its_s))
        self.assertEqual(
            stays, bool(eligibility.why_not(FREE, rules, NOW)))

    @ddt.data((1, True), (0, False))
    @ddt.unpack
    def test_backs_off(self, left, stays):
        rules = eligibility.Rules(back_off_until={'v': NOW + left})
        self.assertEqual(stays, bool(eligibility.why_not(FREE, rules, NOW)))

    def test_names_the_time_in_words(self):
        rules = eligibility.Rules(back_off_until={'v': 1_800_000_060.0})
        self.assertIn('2027-01-15T08:01:00Z',
                      eligibility.why_not(FREE, rules, NOW))


@ddt.ddt
class HiddenTest(testtools.TestCase):

    @ddt.data(
        ({'migration_status': 'target:w'}, True),
        ({'status': 'deleting', 'migration_status': 'deleting',
          'description': 'migration src for w'}, True),
        ({'status': 'available', 'description': 'migration src for w'},
         False),
        ({'status': 'deleting'}, False),
        ({}, False))
    @ddt.unpack
    def test_hidden(self, change, hidden):
        self.assertEqual(
            hidden, eligibility.hidden(dataclasses.replace(FREE, **change)))
