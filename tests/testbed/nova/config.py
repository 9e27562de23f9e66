# SPDX-License-Identifier: Apache-2.0
"""Configuration of Keystone, Placement, Nova and the second cinder-api."""

from __future__ import annotations

from tests.testbed import cinder
from tests.testbed import control
from tests.testbed import layout

KEYSTONE_PORT = 5000
PLACEMENT_PORT = 8778
NOVA_PORT = 8774
NEUTRON_PORT = 9696
CINDER_PORT = 8786
"""Of the second cinder-api, behind Keystone; the first has noauth."""

REGION = 'RegionOne'
PASSWORD = 'secret'
AUTH_URL = f'http://{layout.CONTROL}:{KEYSTONE_PORT}/v3'

POLICY = layout.ROOT / 'etc/serifos/examples/policy'
"""Our own policies, under which everything in the testbed works."""

Config = cinder.Config


def database(name: str) -> str:
    return f'mysql+pymysql://nova:nova@{layout.CONTROL}/{name}'


def auth(user: str, project: str = 'service') -> dict[str, object]:
    """keystoneauth's options of a user."""
    return {'auth_type': 'password', 'auth_url': AUTH_URL,
            'username': user, 'password': PASSWORD,
            'user_domain_id': 'default', 'project_domain_id': 'default',
            'project_name': project, 'region_name': REGION}


def token(user: str) -> dict[str, object]:
    """[keystone_authtoken] of the service that is this user."""
    return {'www_authenticate_uri': AUTH_URL, **auth(user),
            'service_token_roles': 'service',
            'service_token_roles_required': 'true'}


def service_user(user: str) -> dict[str, object]:
    """Without a service's own token Cinder deletes no attachment."""
    return {'send_service_user_token': 'true', **auth(user)}


CINDER: Config = {
    'nova': {**auth('cinder'), 'interface': 'public'},
}
"""How cinder-volume reaches Nova, which moves a volume in use."""

CINDER_API: Config = {
    'DEFAULT': {
        'auth_strategy': 'keystone',
        'osapi_volume_listen_port': CINDER_PORT,
        'osapi_volume_base_URL': f'http://{layout.CONTROL}:{CINDER_PORT}/'},
    'keystone_authtoken': token('cinder'),
    'service_user': service_user('cinder'),
    'oslo_policy': {'policy_file': POLICY / 'cinder-policy.yaml'},
}
"""Over the testbed's cinder.conf, for the cinder-api behind Keystone."""


def keystone(where: layout.Layout) -> Config:
    fernet = {'key_repository': where.control / 'keystone' / 'fernet'}
    return {
        'database': {'connection': database('keystone')},
        # A good hash of a password takes a second of a busy processor.
        'identity': {'password_hash_rounds': 4},
        'token': {'provider': 'fernet', 'expiration': 86400},
        'fernet_tokens': fernet,
        'fernet_receipts': fernet,
        'credential': {
            'key_repository': where.control / 'keystone' / 'credential'},
    }


def placement() -> Config:
    return {
        'api': {'auth_strategy': 'keystone'},
        'placement_database': {'connection': database('placement')},
        'keystone_authtoken': token('placement'),
    }


def nova(where: layout.Layout) -> Config:
    state = where.control / 'nova'
    return {
        'DEFAULT': {
            'transport_url': control.QUEUE_URL, 'my_ip': layout.CONTROL,
            'host': 'control', 'state_path': state,
            'report_interval': 5, 'service_down_time': 30,
            'periodic_fuzzy_delay': 0},
        'wsgi': {'api_paste_config':
                 where.venv / 'etc/nova/api-paste.ini'},
        'api': {'auth_strategy': 'keystone'},
        'api_database': {'connection': database('nova_api')},
        'database': {'connection': database('nova')},
        'keystone_authtoken': token('nova'),
        'service_user': service_user('nova'),
        'placement': auth('nova'),
        'neutron': auth('nova'),
        'cinder': {'catalog_info': 'volumev3::publicURL',
                   'os_region_name': REGION, **auth('nova')},
        # A notification names its URL; nothing listens there.
        'glance': {'api_servers': f'http://{layout.CONTROL}:9292'},
        'oslo_concurrency': {'lock_path': state / 'lock'},
        # The compute host is found as soon as it has a record.
        'scheduler': {'workers': 1, 'discover_hosts_in_cells_interval': 2},
        'conductor': {'workers': 1},
        'oslo_policy': {'policy_file': POLICY / 'nova-policy.yaml'},
        'vnc': {'enabled': 'false'},
        'spice': {'enabled': 'false'},
    }


def compute(where: layout.Layout) -> Config:
    """Over nova(), for nova-compute in its guest."""
    node = where.node(layout.COMPUTE)
    return {
        'DEFAULT': {
            'my_ip': layout.COMPUTE.address, 'host': layout.COMPUTE.name,
            'compute_driver': 'libvirt.LibvirtDriver',
            'state_path': node / 'nova', 'instances_path': node / 'instances',
            'reserved_host_memory_mb': 0, 'reserved_host_disk_mb': 0,
            # A server listens to no button, for which Nova would wait.
            'shutdown_timeout': 0,
            # There is no network whose state could change.
            'heal_instance_info_cache_interval': -1,
            'rootwrap_config': where.venv / 'etc/nova/rootwrap.conf'},
        'oslo_concurrency': {'lock_path': '/run/lock/nova'},
        'libvirt': {'virt_type': 'qemu', 'cpu_mode': 'none',
                    'volume_use_multipath': 'false',
                    'mem_stats_period_seconds': 0},
    }
