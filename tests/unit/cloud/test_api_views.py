# SPDX-License-Identifier: Apache-2.0
import ddt
import testtools

from serifos.cloud import api_views
from serifos.facts import inventory

# As LVM reports a pool and the scheduler adds to it, Cinder 29.
CAPABILITIES = {
    'volume_backend_name': 'ssd', 'storage_protocol': 'iSCSI',
    'vendor_name': 'Open Source', 'backend_state': 'up',
    'total_capacity_gb': 100.0, 'free_capacity_gb': 70.0,
    'allocated_capacity_gb': 20, 'provisioned_capacity_gb': 20.0,
    'reserved_percentage': 10, 'max_over_subscription_ratio': '20.0',
    'thin_provisioning_support': False, 'thick_provisioning_support': True,
    'multiattach': True, 'QoS_support': False, 'filter_function': None,
    'serifos_model': 'intel', 'timestamp': '2026-11-21T06:00:00'}

# As /volumes/detail shows it to an administrator, Cinder 29 at 3.70.
VOLUME = {
    'id': '2222', 'status': 'available', 'size': 1, 'name': 'v',
    'availability_zone': 'nova', 'created_at': '2026-11-21T06:17:37.387617',
    'updated_at': '2026-11-21T06:18:17.823654', 'description': None,
    'volume_type': 'gold', 'snapshot_id': None, 'source_volid': None,
    'metadata': {'serifos:pin': 'yes'}, 'links': [], 'user_id': 'admin',
    'bootable': 'false', 'encrypted': False, 'replication_status': None,
    'consistencygroup_id': None, 'multiattach': False, 'attachments': [],
    'migration_status': 'success', 'group_id': None, 'provider_id': None,
    'shared_targets': True, 'service_uuid': None, 'cluster_name': None,
    'volume_type_id': '20d4', 'consumes_quota': True,
    'os-vol-tenant-attr:tenant_id': '1111',
    'os-vol-mig-status-attr:migstat': 'success',
    'os-vol-mig-status-attr:name_id': '3333',
    'os-vol-host-attr:host': 'b@ssd#ssd'}


def pool(**others):
    return api_views.pool({'name': 'a@ssd#ssd',
                           'capabilities': {**CAPABILITIES, **others}})


@ddt.ddt
class PoolTest(testtools.TestCase):

    def test_what_a_pool_says(self):
        self.assertEqual(inventory.PoolStats(
            'a@ssd#ssd', 100.0, 70.0, backend_name='ssd',
            model='intel', unwritten_gib=60.0, used_gib=30.0,
            capabilities=CAPABILITIES),
            pool())

    # The figures of Cinder 29's calculate_virtual_free_capacity, where its
    # CapacityFilter asks that.
    @ddt.data(
        ({}, 70.0),
        ({'free_capacity_gb': 80.0}, 70.0),
        ({'free_capacity_gb': 60.0}, 60.0),
        ({'provisioned_capacity_gb': None}, 70.0),
        ({'provisioned_capacity_gb': None, 'allocated_capacity_gb': 35},
         55.0),
        ({'total_capacity_gb': 0, 'free_capacity_gb': 0}, -20.0),
        ({'thin_provisioning_support': True}, 1780.0),
        ({'thin_provisioning_support': True,
          'max_over_subscription_ratio': 'auto'}, 90 * (1 + 20 / 31) - 20),
        ({'thin_provisioning_support': True, 'provisioned_capacity_gb': 0,
          'max_over_subscription_ratio': 'auto'}, 1800.0),
        ({'thin_provisioning_support': True,
          'max_over_subscription_ratio': '0.5'}, 0.0),
        ({'free_capacity_gb': 'infinite'}, 1e9),
        ({'total_capacity_gb': 'infinite',
          'free_capacity_gb': 'infinite'}, 1e9),
        ({'total_capacity_gb': 'infinite', 'reserved_percentage': 0}, 70.0),
        ({'total_capacity_gb': 'infinite'}, 0.0),
        ({'total_capacity_gb': 'unknown', 'free_capacity_gb': 'unknown'},
         -20.0))
    @ddt.unpack
    def test_free_is_what_cinder_would_still_place(self, said, free_gib):
        self.assertAlmostEqual(free_gib, pool(**said).free_gib, 9)

    @ddt.data(({}, 30.0), ({'free_capacity_gb': 104}, 0.0),
              ({'reserved_percentage': 50}, 30.0),
              ({'free_capacity_gb': 'unknown'}, None),
              ({'free_capacity_gb': 'infinite'}, None),
              ({'total_capacity_gb': 'infinite'}, None))
    @ddt.unpack
    def test_what_is_used_whatever_is_reserved(self, said, gib):
        self.assertEqual(gib, pool(**said).used_gib)

    @ddt.data(({}, 60.0), ({'free_capacity_gb': 4}, -6.0),
              ({'free_capacity_gb': 'unknown'}, -10.0),
              ({'free_capacity_gb': 'infinite'}, float('inf')),
              ({'total_capacity_gb': 'infinite'}, 70.0))
    @ddt.unpack
    def test_what_can_still_be_written(self, said, gib):
        for thin in False, True:
            self.assertEqual(gib, pool(
                thin_provisioning_support=thin, **said).unwritten_gib)

    @ddt.data(None, '', 0)
    def test_a_pool_without_a_model(self, said):
        self.assertIsNone(pool(serifos_model=said).model)


@ddt.ddt
class RecordTest(testtools.TestCase):

    def test_what_a_volume_says(self):
        self.assertEqual(inventory.Record(
            '2222', 1.0, 'available', pool='b@ssd#ssd', name_id='3333',
            migration_status='success', name='v', volume_type='gold',
            zone='nova', project_id='1111', metadata={'serifos:pin': 'yes'},
            snapshots=2, created_at=1795241857.387617,
            updated_at=1795241897.823654),
            api_views.record(VOLUME, 2))

    @ddt.data(
        ({'os-vol-mig-status-attr:migstat': None, 'migration_status': None},
         'migration_status', None),
        ({'migration_status': 'target:77'}, 'target_of', '77'),
        ({'os-vol-mig-status-attr:name_id': None}, 'lv_id', '2222'),
        ({'os-vol-host-attr:host': None}, 'pool', None),
        ({'cluster_name': 'c@ssd#ssd'}, 'pool', 'c@ssd#ssd'),
        ({'cluster_name': 'c@ssd'}, 'pool', 'c@ssd#ssd'),
        ({'consistencygroup_id': 'g'}, 'group_id', 'g'),
        ({'encrypted': True}, 'encrypted', True),
        ({'multiattach': True}, 'multiattach', True),
        ({'volume_type': None}, 'volume_type', None),
        ({'attachments': [{'server_id': 's'}]}, 'attachments', ('s',)),
        ({'attachments': [{'server_id': None}]}, 'attachments', ('',)))
    @ddt.unpack
    def test_one_thing_is_other(self, said, name, value):
        self.assertEqual(
            value, getattr(api_views.record({**VOLUME, **said}), name))


@ddt.ddt
class ServiceTest(testtools.TestCase):

    @ddt.data(
        ({}, {}), ({'state': 'down'}, {'up': False}),
        ({'status': 'disabled'}, {'enabled': False}),
        ({'frozen': True}, {'frozen': True}),
        ({'backend_state': 'down'}, {'backend_up': False}),
        ({'backend_state': None}, {'backend_up': None}),
        ({'cluster': 'c@ssd'}, {'cluster': 'c@ssd'}))
    @ddt.unpack
    def test_what_a_service_says(self, said, heard):
        self.assertEqual(inventory.Service(**{
            'binary': 'cinder-volume', 'host': 'a@ssd', 'zone': 'nova',
            'backend_up': True, 'updated_at': 1795241856.839825,
            **heard}), api_views.service({
                'binary': 'cinder-volume', 'host': 'a@ssd', 'zone': 'nova',
                'status': 'enabled', 'state': 'up', 'frozen': False,
                'updated_at': '2026-11-21T06:17:36.839825',
                'backend_state': 'up', 'cluster': None,
                'replication_status': 'not-capable',
                'active_backend_id': None, 'disabled_reason': None, **said}))
