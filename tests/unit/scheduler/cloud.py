# SPDX-License-Identifier: Apache-2.0
"""Cinder's own scheduler, with a database in memory and no message bus.

Nothing of Cinder is replaced: manager, driver, host manager, filters,
weighers, services and volumes are real; what is cast to cinder-volume is
heard by nobody.
"""

from __future__ import annotations

from typing import Any
import unittest
import uuid

import fixtures

try:
    from cinder.common import config  # noqa: F401
    from cinder import context
    from cinder import exception
    from cinder import objects
    from cinder import rpc
    from oslo_config import cfg
    from oslo_messaging import conffixture
    from oslo_serialization import jsonutils
    from oslo_utils import importutils
    from oslo_utils import timeutils
except ImportError:
    raise unittest.SkipTest('needs Cinder: tools/test cinder') from None
try:
    from cinder.db.sqlalchemy import api
    from cinder.db.sqlalchemy import models
except ImportError:  # Cinder 29
    from cinder.db import api
    from cinder.db import models

from serifos.scheduler import judge

objects.register_all()
# These want the objects registered when they are imported.
importutils.import_module('cinder.scheduler.filter_scheduler')
manager = importutils.import_module('cinder.scheduler.manager')
CONF = cfg.CONF

SERIFOS = 'serifos.scheduler.driver.SerifosScheduler'
STOCK = 'cinder.scheduler.filter_scheduler.FilterScheduler'
FILTERS = ['AvailabilityZoneFilter', 'CapacityFilter', 'CapabilitiesFilter']
PROJECT = 'ad' * 16


class Cloud(fixtures.Fixture):
    """Pools, and the requests that cinder-api sends to cinder-scheduler.

    :param path: of cinder.conf
    :param options: of [DEFAULT]
    """

    def __init__(self, path: str, **options: Any) -> None:
        self._path = path
        self._options = options

    def _setUp(self) -> None:
        CONF([], project='cinder', default_config_files=[self._path])
        self.addCleanup(CONF.reset)
        self.addCleanup(CONF.clear)
        self.useFixture(conffixture.ConfFixture(CONF, 'fake:/'))
        CONF.set_override('connection', 'sqlite://', group='database')
        for name, value in self._options.items():
            CONF.set_override(name, value)
        rpc.init(CONF)
        self.addCleanup(rpc.cleanup)
        self.context = context.RequestContext('user', PROJECT, is_admin=True)
        engine = api.get_engine()
        models.BASE.metadata.create_all(engine)
        self.addCleanup(models.BASE.metadata.drop_all, engine)
        self.restart()
        self.addCleanup(judge.forget)
        self.type('__DEFAULT__')

    @property
    def driver(self) -> Any:
        return self.manager.driver

    def restart(self) -> None:
        """cinder-scheduler starts again, with the options of now."""
        judge.forget()
        self.manager = manager.SchedulerManager()

    def pool(self, name: str, allocated_gib: float = 0, free_gib: float = 900,
             **capabilities: Any) -> None:
        """A pool ``host@backend#pool`` of 1,000 GiB reports itself."""
        backend, _, pool_name = name.partition('#')
        if not objects.ServiceList.get_all(
                self.context, {'host': backend}).objects:
            objects.Service(
                self.context, host=backend, binary='cinder-volume',
                topic='cinder-volume', report_count=1,
                availability_zone='nova').create()
        self.driver.update_service_capabilities('volume', backend, {
            'volume_backend_name': pool_name, 'driver_version': '1',
            'vendor_name': 'serifos', 'storage_protocol': 'iSCSI',
            'timestamp': timeutils.utcnow(),
            'pools': [{'pool_name': pool_name, 'total_capacity_gb': 1000,
                       'free_capacity_gb': free_gib,
                       'allocated_capacity_gb': allocated_gib,
                       'reserved_percentage': 0, **capabilities}],
        }, None, None)

    def type(self, name: str, **extra_specs: str) -> objects.VolumeType:
        kind = objects.VolumeType(
            self.context, name=name, is_public=True, projects=[],
            description='',
            extra_specs={key.replace('__', ':'): value
                         for key, value in extra_specs.items()})
        kind.create()
        return kind

    def create(self, size: int = 10, kind: objects.VolumeType | None = None,
               hints: dict[str, str] | None = None,
               qos: dict[str, str] | None = None,
               **metadata: str) -> objects.Volume:
        """A volume, as far as cinder-scheduler brings it."""
        return self.bring(self._volume(size, kind), kind, hints, qos,
                          **metadata)

    def bring(self, volume: objects.Volume,
              kind: objects.VolumeType | None = None,
              hints: dict[str, str] | None = None,
              qos: dict[str, str] | None = None,
              **metadata: str) -> objects.Volume:
        """The same of a volume that there is, as once a backend failed."""
        self.manager.create_volume(
            self.context, volume,
            request_spec=self.spec(volume, kind, qos, metadata),
            filter_properties={'scheduler_hints': hints} if hints else {})
        volume.refresh()
        return volume

    def spec(self, volume: objects.Volume,
             kind: objects.VolumeType | None = None,
             qos: dict[str, str] | None = None,
             metadata: dict[str, str] | None = None) -> objects.RequestSpec:
        return objects.RequestSpec(
            volume_id=volume.id, volume=volume, volume_type=kind,
            volume_properties=objects.VolumeProperties(
                size=volume.size, qos_specs=qos, project_id=PROJECT,
                metadata={key.replace('__', ':'): value
                          for key, value in (metadata or {}).items()}))

    def living(self, host: str, size: int = 10,
               kind: objects.VolumeType | None = None) -> objects.Volume:
        """A volume that lives in a pool already."""
        volume = self._volume(size, kind)
        volume.host, volume.status = host, 'available'
        volume.save()
        return volume

    def passes(self, volume: objects.Volume, pool: str,
               operation: str) -> str | None:
        """The pool, where it may be the target of an operation."""
        spec = jsonutils.to_primitive({
            'volume_properties': volume, 'volume_id': volume.id,
            'volume_type': volume.volume_type, 'operation': operation})
        try:
            return self.driver.backend_passes_filters(
                self.context, pool, spec, {}).host
        except exception.NoValidBackend:
            return None

    def retype(self, volume: objects.Volume,
               kind: objects.VolumeType) -> str | None:
        """Where a retype that may migrate takes a volume."""
        spec = jsonutils.to_primitive({
            'volume_properties': volume, 'volume_id': volume.id,
            'volume_type': kind, 'operation': 'retype_volume',
            'migration_policy': 'on-demand'})
        try:
            return self.driver.find_retype_backend(
                self.context, spec, {}, 'on-demand').host
        except exception.NoValidBackend:
            return None

    def group(self, kinds: list[objects.VolumeType]) -> str | None:
        """The host of a group for volumes of these types."""
        group = objects.Group(
            self.context, group_type_id=str(uuid.uuid4()), status='creating',
            project_id=PROJECT, user_id='user', availability_zone='nova',
            volume_type_ids=[kind.id for kind in kinds])
        group.create()
        self.manager.create_group(
            self.context, group,
            group_spec={'group_type': None, 'qos_specs': None,
                        'volume_properties': {'size': 0}},
            group_filter_properties={}, filter_properties_list=[],
            request_spec_list=[
                {'volume_type': jsonutils.to_primitive(kind),
                 'qos_specs': None, 'volume_properties': {'size': 0}}
                for kind in kinds])
        group.refresh()
        return group.host

    def _volume(self, size: int,
                kind: objects.VolumeType | None) -> objects.Volume:
        volume = objects.Volume(
            self.context, size=size, status='creating', project_id=PROJECT,
            user_id='user', availability_zone='nova',
            volume_type_id=kind and kind.id)
        volume.create()
        return volume
