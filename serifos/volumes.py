# SPDX-License-Identifier: Apache-2.0
"""What does Cinder have, and how is it asked to move a volume?

The one place where python-cinderclient is used: it turns Cinder's replies
into :mod:`serifos.inventory`, and its errors into one sentence. It never
retries what changes something: whether a request arrived that got no answer
is for the caller to find out.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import math
from typing import Any

from cinderclient import client
from cinderclient.contrib import noauth as no
from cinderclient import exceptions
from keystoneauth1 import exceptions as ks_exceptions
from keystoneauth1 import session as ks_session

from serifos import errors
from serifos import inventory as inv

VERSION = '3.70'
"""The API's microversion: Cinder has known it since Xena."""

_TIMEOUT_S = 60
_OLD_COPY = 'migration src for '


class Refused(errors.CloudError):
    """Cinder answered, and said no; nothing has changed."""


def noauth(endpoint: str, project_id: str,
           user_id: str = 'admin') -> Cinder:
    """A Cinder with ``auth_strategy = noauth``.

    :param endpoint: such as ``http://10.0.0.1:8776/v3``
    """
    plugin = no.CinderNoAuthPlugin(user_id, project_id, endpoint=endpoint)
    return Cinder(client.Client(VERSION, session=ks_session.Session(
        auth=plugin, timeout=_TIMEOUT_S)))


def keystone(session: ks_session.Session, **adapter: Any) -> Cinder:
    """The Cinder of a keystoneauth session's catalogue.

    :param adapter: ``region_name``, ``interface``, ``endpoint_override``
    """
    return Cinder(client.Client(VERSION, session=session, **adapter))


class Cinder:
    """The port :class:`.inventory.Cloud` over Cinder's API."""

    def __init__(self, api: Any) -> None:
        self._api = api

    def inventory(self) -> inv.Inventory:
        """Everything, of all projects."""
        everybody = {'all_tenants': 1}
        with _sentences():
            snapshots: dict[str, int] = {}
            for snapshot in self._api.volume_snapshots.list(
                    detailed=False, search_opts=everybody):
                snapshots[snapshot.volume_id] = snapshots.get(
                    snapshot.volume_id, 0) + 1
            qos = {spec.id: dict(spec.specs)
                   for spec in self._api.qos_specs.list()}
            return inv.Inventory(
                tuple(pool(each.to_dict()) for each
                      in self._api.pools.list(detailed=True)),
                tuple(service(each.to_dict()) for each
                      in self._api.services.list(binary='cinder-volume')),
                tuple(record(each.to_dict(), snapshots.get(each.id, 0))
                      for each in self._api.volumes.list(
                          search_opts=everybody)),
                tuple(inv.Type(
                    each.name, dict(each.extra_specs or {}),
                    qos.get(getattr(each, 'qos_specs_id', None), {}))
                    for each in self._api.volume_types.list(
                        is_public=None)))

    def volume(self, volume_id: str) -> inv.Record | None:
        """One volume as it is now, its snapshots not counted."""
        with _sentences():
            try:
                return record(self._api.volumes.get(volume_id).to_dict())
            except exceptions.NotFound:
                return None

    def halves(self, volume_id: str) -> tuple[inv.Record, ...]:
        """The hidden records of a volume's migration."""
        with _sentences():
            found = [record(each.to_dict()) for status in (
                f'target:{volume_id}', 'deleting')
                for each in self._api.volumes.list(search_opts={
                    'all_tenants': 1, 'migration_status': status})]
        return tuple(half for half in found if volume_id in (
            half.target_of, (half.description or '').removeprefix(_OLD_COPY)))

    def attachments(self) -> dict[str, tuple[str, str]]:
        """Volume → (server, device) of those with one attachment."""
        with _sentences():
            found = {each.id: each.attachments for each in
                     self._api.volumes.list(search_opts={'all_tenants': 1})}
        return {volume: (them[0]['server_id'], them[0]['device'])
                for volume, them in found.items() if len(them) == 1
                and them[0].get('server_id') and them[0].get('device')}

    def migrate(self, volume_id: str, pool: str) -> None:
        """Asks for a migration that locks the volume, without force.

        :raises Refused: where Cinder says no
        :raises CloudError: where it does not answer, and may have begun
        """
        with _sentences():
            self._api.volumes.migrate_volume(
                volume_id, pool, force_host_copy=False, lock_volume=True)

    def reset(self, volume_id: str, status: str | None = None) -> None:
        """Clears the migration status, and sets the status where given."""
        with _sentences():
            self._api.volumes.reset_state(
                volume_id, status, migration_status='none')

    def delete(self, volume_id: str) -> None:
        """Deletes a volume; nothing where it is gone."""
        with _sentences(), contextlib.suppress(exceptions.NotFound):
            self._api.volumes.delete(volume_id)


@contextlib.contextmanager
def _sentences() -> Iterator[None]:
    """Errors as one sentence; 4xx, as far as it is ours, as Refused."""
    try:
        yield
    except (exceptions.Unauthorized, exceptions.Forbidden) as exc:
        raise Refused(
            f'Cinder does not let us ({_said(exc)}); look at [cinder] of '
            'serifos.conf, an administrator is needed.') from None
    except exceptions.ClientException as exc:
        if 400 <= exc.code < 500:
            raise Refused(f'Cinder says no: {_said(exc)}.') from None
        raise errors.CloudError(
            f'Cinder is in trouble: {_said(exc)}.') from None
    except ks_exceptions.ClientException as exc:
        raise errors.CloudError(
            f'Cinder does not answer: {_said(exc)}.') from None


def _said(exc: Exception) -> str:
    return ' '.join(str(exc).split()).rstrip('.')


def record(doc: Mapping[str, Any], snapshots: int = 0) -> inv.Record:
    """A volume as the API's detailed view gives it to an administrator."""
    return inv.Record(
        doc['id'], float(doc['size']), doc['status'],
        pool=doc.get('os-vol-host-attr:host'),
        name_id=doc.get('os-vol-mig-status-attr:name_id'),
        migration_status=doc.get('migration_status')
        or doc.get('os-vol-mig-status-attr:migstat'),
        name=doc.get('name'), description=doc.get('description'),
        volume_type=doc.get('volume_type') or None,
        zone=doc.get('availability_zone'),
        project_id=doc.get('os-vol-tenant-attr:tenant_id'),
        metadata=doc.get('metadata') or {}, snapshots=snapshots,
        group_id=doc.get('group_id') or doc.get('consistencygroup_id'),
        replication_status=doc.get('replication_status'),
        encrypted=bool(doc.get('encrypted')),
        multiattach=bool(doc.get('multiattach')),
        attachments=len(doc.get('attachments') or ()),
        created_at=doc.get('created_at'), updated_at=doc.get('updated_at'))


def service(doc: Mapping[str, Any]) -> inv.Service:
    """A service as ``os-services`` lists it."""
    backend = doc.get('backend_state')
    return inv.Service(
        doc['binary'], doc['host'], zone=doc.get('zone'),
        up=doc.get('state') == 'up', enabled=doc.get('status') == 'enabled',
        frozen=bool(doc.get('frozen')),
        backend_up=None if backend is None else backend == 'up',
        updated_at=doc.get('updated_at'))


def pool(doc: Mapping[str, Any]) -> inv.PoolStats:
    """A pool as ``get_pools?detail=True`` gives it, flattened or not."""
    said = doc.get('capabilities') or doc
    thin = _true(said.get('thin_provisioning_support'))
    return inv.PoolStats(
        doc['name'],
        total_gib=min(_UNBOUNDED, _gib(said, 'total_capacity_gb')),
        free_gib=_free_gib(said, thin),
        allocated_gib=_gib(said, 'allocated_capacity_gb'),
        backend_name=said.get('volume_backend_name'),
        model=said.get('serifos_model') or None, thin=thin,
        capabilities=dict(said))


def _free_gib(said: Mapping[str, Any], thin: bool) -> float:
    """What Cinder would still place there, its reserve deducted.

    Cinder's ``calculate_virtual_free_capacity`` for a volume of the pool's
    own kind: a thin one may be promised more than there is.
    """
    total = _gib(said, 'total_capacity_gb')
    if math.isinf(total):
        return _UNBOUNDED
    reserved = math.floor(total * _number(
        said.get('reserved_percentage'), 0.0) / 100)
    if thin:
        ratio = _number(said.get('max_over_subscription_ratio'), 1.0)
        return total * ratio - reserved - _gib(
            said, 'provisioned_capacity_gb')
    return min(_UNBOUNDED, _gib(said, 'free_capacity_gb')) - reserved


_UNBOUNDED = 1e9
"""GiB that stand for 'infinite'; nothing real is as large."""


def _gib(said: Mapping[str, Any], name: str) -> float:
    """0 for 'unknown': no room that nobody vouches for."""
    return _number(said.get(name), 0.0)


def _number(value: object, default: float) -> float:
    if value == 'infinite':
        return math.inf
    try:
        number = float(str(value))
    except ValueError:
        return default
    return default if math.isnan(number) else number


def _true(value: object) -> bool:
    return str(value).strip().lower() in ('true', '1', 'yes', 'on', 't', 'y')
