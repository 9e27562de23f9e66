# SPDX-License-Identifier: Apache-2.0
"""Configuration of Cinder; start and stop of its API and scheduler."""

from __future__ import annotations

import json
import pathlib
import subprocess

from tests.testbed import control
from tests.testbed import layout
from tests.testbed import network
from tests.testbed import records

Config = dict[str, dict[str, object]]
"""{section: {option: value}}."""

STOCK: Config = {}
"""Cinder's own: FilterScheduler, which weighs by free capacity."""

WEIGHER: Config = {
    'DEFAULT': {'scheduler_default_weighers': 'SerifosWeigher'}}
"""The FilterScheduler with the weigher of serifos."""

DRIVER: Config = {
    'DEFAULT': {
        'scheduler_driver': 'serifos.scheduler.driver.SerifosScheduler'}}
"""The scheduler of serifos; nothing else is set."""

KEYS = {'backend': 'cinder.keymgr.conf_key_mgr.ConfKeyManager',
        'fixed_key': '00' * 32}
"""One key for all volumes of an encrypted type. Where Cinder is to delete
it, it logs so and keeps it."""

CLEAR_MIB = 32
"""A deleted volume's first MiB are overwritten by zeros, not all of them:
that would take the emulated SSDs half a minute a GiB."""

# JsonFilter lets a scheduler hint, which Cinder does not keep, name a pool.
FILTERS = ('AvailabilityZoneFilter,CapacityFilter,CapabilitiesFilter,'
           'JsonFilter')

FILTER: Config = {'DEFAULT': {
    'scheduler_default_filters': f'{FILTERS},SerifosFilter'}}
"""Cinder's own scheduler, which meets SLOs."""


def render(*configs: Config) -> str:
    """As a file; of an option given twice the last counts."""
    merged: dict[str, dict[str, object]] = {}
    for config in configs:
        for section, options in config.items():
            merged.setdefault(section, {}).update(options)
    return '\n'.join(
        f'[{section}]\n' + ''.join(f'{name} = {value}\n'
                                   for name, value in options.items())
        for section, options in merged.items())


def common(where: layout.Layout, host: str, address: str,
           state: pathlib.Path | str) -> Config:
    return {
        'DEFAULT': {
            'transport_url': control.QUEUE_URL,
            'auth_strategy': 'noauth',
            'host': host,
            'my_ip': address,
            'state_path': state,
            'api_paste_config': where.venv / 'etc/cinder/api-paste.ini',
            'resource_query_filters_file':
                where.venv / 'etc/cinder/resource_filters.json',
            'rootwrap_config': where.venv / 'etc/cinder/rootwrap.conf',
            # Dead within half a minute, not within one.
            'report_interval': 5,
            'service_down_time': 30,
        },
        'database': {'connection': control.DATABASE_URL},
        'oslo_concurrency': {'lock_path': f'{state}/lock'},
        'coordination': {'backend_url': f'file://{state}/coordination'},
        'oslo_messaging_notifications': {'driver': 'noop'},
        'key_manager': KEYS,
    }


def control_config(where: layout.Layout) -> Config:
    found = common(where, 'control', layout.CONTROL, where.control / 'cinder')
    found['DEFAULT'].update({
        'osapi_volume_listen': layout.CONTROL,
        'osapi_volume_workers': 1,
        'osapi_volume_base_URL':
            f'http://{layout.CONTROL}:{layout.API_PORT}/',
        'quota_volumes': -1,
        'quota_gigabytes': -1,
        'quota_snapshots': -1,
        'scheduler_default_filters': FILTERS,
    })
    found['serifos'] = {'state_dir': where.serifos,
                        'models_dir': where.serifos / 'models'}
    return found


def host_config(where: layout.Layout, host: layout.Host) -> Config:
    found = common(where, host.name, host.address, '/var/lib/cinder')
    found['DEFAULT'].update({
        'enabled_backends': layout.BACKEND,
        'backend_stats_polling_interval': 15,
    })
    found[layout.BACKEND] = {
        'volume_driver': 'cinder.volume.drivers.lvm.LVMVolumeDriver',
        'volume_backend_name': layout.BACKEND,
        'volume_group': layout.BACKEND,
        'lvm_type': 'default',
        'lvm_conf_file': '/etc/lvm/lvm.conf',
        'target_helper': 'lioadm',
        'target_protocol': 'iscsi',
        'target_ip_address': host.address,
        'target_prefix': f'iqn.2026-01.org.serifos.{host.name}:',
        'volume_clear': 'zero',
        'volume_clear_size': CLEAR_MIB,
        'volume_dd_blocksize': '1M',
        'extra_capabilities': json.dumps({'serifos_model': host.name}),
    }
    return found


class Cinder:
    """cinder-api and cinder-scheduler, and the configuration of all.

    :param config: over the testbed's own, for all of them
    """

    def __init__(self, where: layout.Layout, started: records.Records,
                 config: Config) -> None:
        self._layout = where
        self._config = config
        self._records = started
        self._network = network.Network(where.network)
        self._conf = where.control / 'cinder.conf'
        self._scheduler_conf = where.control / 'scheduler.conf'
        self.scheduler_log = where.control / 'scheduler.log'

    def configure(self, hosts: tuple[layout.Host, ...]) -> None:
        for name in ('cinder/lock', 'cinder/coordination'):
            (self._layout.control / name).mkdir(parents=True, exist_ok=True)
        (self._layout.serifos / 'models').mkdir(parents=True, exist_ok=True)
        self._conf.write_text(render(
            control_config(self._layout), self._config))
        for host in hosts:
            (self._layout.node(host) / 'cinder-volume.conf').write_text(
                render(host_config(self._layout, host), self._config))

    def sync_database(self) -> None:
        done = subprocess.run(
            [*self._network.prefix, self._program('cinder-manage'),
             '--config-file', self._conf, 'db', 'sync'],
            capture_output=True, text=True)
        (self._layout.control / 'db-sync.log').write_text(
            done.stdout + done.stderr)
        if done.returncode:
            raise layout.TestbedError(
                f"cinder-manage db sync failed: {done.stderr[-500:]}")

    def start_api(self) -> None:
        self._start('cinder-api', self._conf,
                    self._layout.control / 'api.log')

    def wait_api(self) -> None:
        network.wait_for(
            f'cinder-api answers (see {self._layout.control}/api.log)',
            lambda: self._network.answers(layout.CONTROL, layout.API_PORT),
            300)

    def start_scheduler(self, config: Config = STOCK) -> None:
        """Ends the one that runs; config goes over the testbed's own."""
        self._records.stop('cinder-scheduler')
        self._scheduler_conf.write_text(
            render(control_config(self._layout), self._config, config))
        self._start('cinder-scheduler', self._scheduler_conf,
                    self.scheduler_log)

    def _start(self, name: str, conf: pathlib.Path,
               log: pathlib.Path) -> None:
        self._records.start(
            name, [*self._network.prefix, self._program(name),
                   '--config-file', conf], log,
            {'PYTHONWARNINGS': 'ignore'})

    def _program(self, name: str) -> pathlib.Path:
        return self._layout.venv / 'bin' / name
