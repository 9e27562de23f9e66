# SPDX-License-Identifier: Apache-2.0
"""A client of Cinder's API: its inventory, and requests to move volumes.

Replies are read in :mod:`serifos.cloud.api_views`, errors in
:mod:`serifos.cloud.api_errors`. A request that changes something is never
retried: the caller has to find out whether one without an answer arrived.

A request that an account may not make gets a 403. A list that it may ask for
comes without the volumes of other projects, or without a field; planned for,
such volumes would be no load, or move although their project is excluded. So
a list that lacks something is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from urllib import parse

from cinderclient import client
from cinderclient.contrib.noauth import CinderNoAuthPlugin
from cinderclient import exceptions
from keystoneauth1.plugin import BaseAuthPlugin
from keystoneauth1 import session as ks_session

from serifos.cloud import api_errors
from serifos.cloud import api_views
from serifos.cloud import pages
from serifos import errors
from serifos.facts import cinder_errors
from serifos.facts import fields
from serifos.facts.inventory import Inventory
from serifos.facts.inventory import Record
from serifos.facts.inventory import Service
from serifos.facts.inventory import Type
from serifos.facts.inventory import Unread
from serifos.facts import names
from serifos.facts.servers import Attachment
from serifos import web

VERSION = '3.70'
"""The API's microversion, in Cinder since Xena."""

_OLD_COPY = 'migration src for '

_UNDER_WAY = (
    ('migration_status', 'starting'), ('migration_status', 'migrating'),
    ('migration_status', 'completing'), ('migration_status', 'deleting'),
    ('status', 'deleting'), ('status', 'error_deleting'))
"""Statuses of a volume under migration, in the order in which they follow.

One that goes on while they are asked for is found under the next one.
"""

_ALL_PROJECTS = ('it lists the volumes of one project only; policy '
                 'context_is_admin')
VOLUME = {
    'migration_status': _ALL_PROJECTS,
    'os-vol-host-attr:host': 'it does not say where a volume is; policy '
                             'volume_extension:volume_host_attribute',
    'os-vol-mig-status-attr:name_id': 'it does not name the logical volumes; '
    'policy volume_extension:volume_mig_status_attribute',
    'os-vol-tenant-attr:tenant_id': 'it does not say whose a volume is; '
    'policy volume_extension:volume_tenant_attribute'}
"""Field of a volume's detailed view → what is hidden, by which policy."""

TYPE = {
    'extra_specs': 'it does not show the extra specs of volume types; policy '
                   'volume_extension:access_types_extra_specs',
    'qos_specs_id': 'it does not show the QoS of volume types; policy '
                    'volume_extension:access_types_qos_specs_id'}
"""The same of a volume type's."""


def noauth(endpoint: str, project_id: str, user_id: str = 'admin',
           stopped: Callable[[], bool] | None = None) -> Cinder:
    """A Cinder with ``auth_strategy = noauth``.

    :param endpoint: such as ``http://10.0.0.1:8776/v3``
    :param stopped: whether the program is to stop, so that answers need not
        be waited for
    """
    plugin = CinderNoAuthPlugin(user_id, project_id,
                                endpoint=endpoint.rstrip('/'))
    return keystone(web.Session(auth=plugin, stopped=stopped,
                                check=api_views.usable))


def session(conf: Any, group: str, auth: BaseAuthPlugin,
            stopped: Callable[[], bool] | None = None) -> web.Session:
    """A session by a group of keystoneauth's options.

    :param conf: of oslo.config
    :param stopped: whether the program is to stop
    :raises ClientException: where the options cannot be used
    """
    return web.Loader().load_from_conf_options(
        conf, group, auth=auth, stopped=stopped, check=api_views.usable)


def keystone(session: ks_session.Session, **adapter: Any) -> Cinder:
    """The Cinder of a keystoneauth session's catalogue.

    :param session: of :mod:`serifos.web`, with :func:`.api_views.usable` as
        its check: a slow or hanging API must not hang the caller
    :param adapter: ``region_name``, ``interface``, ``endpoint_override``
    """
    if session.timeout is None:
        session.timeout = web.TIMEOUT_S
    return Cinder(client.Client(VERSION, session=session, **adapter))


class Cinder:
    """The port :class:`.inventory.Cloud` over Cinder's API.

    :param most: items of one kind that are read
    """

    def __init__(self, api: Any, most: int = pages.MOST) -> None:
        self._api, self._most = api, most
        self._reads = pages.Pages(api, most)
        self._clusters: frozenset[str] = frozenset()

    def inventory(self) -> Inventory:
        """Volumes, pools, services and types of all projects."""
        with api_errors.sentences(self._api):
            snapshots = api_views.snapshots(
                self._reads.items('/snapshots', 'snapshots', all_tenants=1))
            qos = api_views.qos(self._reads.items('/qos-specs', 'qos_specs'))
            pools, bad_pools = api_views.each('pool', self._reads.page(
                '/scheduler-stats/get_pools', 'pools', detail=True),
                api_views.pool)
            services, bad_services = self._services()
            volumes = self._volumes()
            types = self._types()
            self._refuse_hidden(volumes, types)
            records, bad_records = api_views.each(
                'volume', volumes, lambda doc: api_views.record(
                    doc, snapshots.get(api_views.id_of(doc), 0)))
            kinds, bad_kinds = api_views.each(
                'volume type', types, lambda doc: api_views.kind(doc, qos))
        found = Inventory(
            pools, services, records, kinds,
            (*bad_pools, *bad_services, *bad_records, *bad_kinds))
        self._clusters = found.clusters
        return found

    def under_way(self) -> Inventory:
        """The services, and volumes that may take part in a migration."""
        with api_errors.sentences(self._api):
            docs = [doc for name, value in _UNDER_WAY
                    for doc in self._volumes(**{name: value})]
            volumes = list({api_views.id_of(doc) or nth: doc
                            for nth, doc in enumerate(docs)}.values())
            self._refuse_hidden(volumes, [])
            services, bad_services = self._services()
            records, bad_records = api_views.each(
                'volume', volumes, api_views.record)
        return Inventory((), services, records,
                         unread=(*bad_services, *bad_records))

    def volume(self, volume_id: str) -> Record | None:
        """One volume as it is now, its snapshots not counted; None if gone."""
        with (api_errors.sentences(self._api),
              api_errors.gone(volume_id)):
            doc = self._reads.get(f'/volumes/{volume_id}')
            return _record(volume_id, doc['volume'])
        return None

    def snapshots_of(self, volume_id: str) -> int:
        """How many snapshots a volume has."""
        with api_errors.sentences(self._api):
            return api_views.snapshots(self._reads.items(
                '/snapshots', 'snapshots', all_tenants=1,
                volume_id=volume_id)).get(volume_id, 0)

    def volume_type(self, name: str) -> Type | None:
        """A volume type as it is now, its QoS not read; None if gone."""
        with api_errors.sentences(self._api):
            types = self._types()
            why = hidden(types, TYPE)
            if why is not None:
                raise api_errors.denied(why)
            found, unread = api_views.each(
                'volume type', types, lambda doc: api_views.kind(doc, {}))
        kind = next((kind for kind in found if kind.name == name), None)
        if kind is None and unread:
            raise errors.CloudError(
                f'Cinder\'s answer for volume type {name} cannot be read: '
                f'{unread[0].why}.')
        return kind

    def attachments(self) -> dict[str, tuple[str, str, float]]:
        """Volume → (instance, device, since), where it has one attachment."""
        with api_errors.sentences(self._api):
            return dict(filter(None, map(api_views.attachment,
                                         self._volumes())))

    def halves(self, volume_id: str) -> tuple[Record, ...]:
        """The hidden records of a volume's migration."""
        with api_errors.sentences(self._api):
            found = [_record(api_views.id_of(doc), doc) for status in (
                f'target:{volume_id}', 'deleting')
                for doc in self._volumes(migration_status=status)
                if api_views.mentions(doc, volume_id)]
        return tuple(half for half in found if volume_id in (
            half.target_of, (half.description or '').removeprefix(_OLD_COPY)))

    def attachments_of(self, volume_id: str) -> tuple[Attachment, ...]:
        """The attachments of a volume, those that are not complete too."""
        with api_errors.sentences(self._api):
            return tuple(map(attachment, self._reads.items(
                '/attachments/detail', 'attachments', all_tenants=1,
                volume_id=volume_id)))

    def delete_attachment(self, attachment_id: str) -> None:
        """Ends an attachment and its export; nothing where it is gone."""
        with (api_errors.sentences(self._api),
              api_errors.gone(attachment_id)):
            self._api.attachments.delete(attachment_id)

    def migrate(self, volume_id: str, pool: str) -> None:
        """Asks for a migration that locks the volume, without force.

        To a cluster where the last inventory has one of that name.

        :raises cinder_errors.Refused: where Cinder refuses
        :raises CloudError: where it does not answer, and may have begun
        """
        with api_errors.sentences(self._api):
            kind = ('cluster' if names.backend(pool) in self._clusters
                    else 'host')
            answer, body = self._api.client.post(
                f'/volumes/{volume_id}/action', raise_exc=False,
                body={'os-migrate_volume': {
                    kind: pool, 'force_host_copy': False,
                    'lock_volume': True}})
            if answer.status_code in cinder_errors.FOR_NOW:
                raise cinder_errors.Refused(
                    'Cinder takes no more requests for now (HTTP '
                    f'{answer.status_code}).', answer.status_code,
                    answer.headers.get('Retry-After'))
            if answer.status_code >= 400:
                raise exceptions.from_response(answer, body)

    def complete(self, volume_id: str, copy_id: str) -> None:
        """Asks for the copy to become the volume, as Nova does."""
        with api_errors.sentences(self._api):
            self._api.volumes.migrate_volume_completion(
                volume_id, copy_id, False)

    def reset(self, volume_id: str, status: str | None = None) -> None:
        """Clears the migration status, and sets the status where given."""
        with api_errors.sentences(self._api):
            self._api.volumes.reset_state(
                volume_id, status, migration_status='none')

    def relabel(self, volume_id: str, named: Mapping[str, str],
                metadata: Mapping[str, str | None]) -> None:
        """Sets name and description, and items of metadata.

        :raises cinder_errors.Refused: where the account may not, or the
            volume is locked
        """
        kept = {key: value for key, value in metadata.items()
                if value is not None}
        with api_errors.sentences(self._api):
            if named:
                self._api.volumes.update(volume_id, **named)
            if kept:
                self._api.volumes.set_metadata(volume_id, kept)
        for key in {*metadata} - {*kept}:
            with api_errors.sentences(self._api), api_errors.gone(volume_id):
                self._api.client.delete(
                    f'/volumes/{volume_id}/metadata/{parse.quote(key)}')

    def delete(self, volume_id: str) -> None:
        """Deletes a volume; nothing where it is gone."""
        with (api_errors.sentences(self._api),
              api_errors.gone(volume_id)):
            self._api.volumes.delete(volume_id)

    def unmanage(self, volume_id: str) -> None:
        """Removes only the record; nothing where it is gone."""
        with (api_errors.sentences(self._api),
              api_errors.gone(volume_id)):
            self._api.volumes.unmanage(volume_id)

    def logical_volumes(self, pool: str) -> frozenset[str] | None:
        """The names that the backend's own driver lists, page by page.

        None where there are none, since Cinder lists none also for a driver
        that cannot list them.
        """
        found: list[Any] = []
        with api_errors.sentences(self._api):
            while page := self._reads.page(
                    '/manageable_volumes', 'manageable-volumes', host=pool,
                    limit=pages.PAGE, offset=len(found)):
                found += page
                if len(found) > self._most:
                    return None
            return frozenset(
                fields.Field(one)['reference']['source-name'].name()
                for one in found) or None

    def _refuse_hidden(self, volumes: list[Any], types: list[Any]) -> None:
        """:raises Refused: where the account does not see all that we need"""
        why = (hidden(volumes, VOLUME)
               or hidden(types, TYPE))
        if why is None and not volumes:
            why = of_one_project(self._reads.items(
                '/types', 'volume_types', is_public=False))
        if why is not None:
            raise api_errors.denied(why)

    def _services(self) -> tuple[tuple[Service, ...], tuple[Unread, ...]]:
        return api_views.each('service', self._reads.page(
            '/os-services', 'services', binary='cinder-volume'),
            api_views.service)

    def _types(self) -> list[Any]:
        return self._reads.items('/types', 'volume_types', is_public=None)

    def _volumes(self, **query: object) -> list[Any]:
        return self._reads.items(
            '/volumes/detail', 'volumes', all_tenants=1, **query)


def _record(name: str, doc: object) -> Record:
    """:raises CloudError: where the volume cannot be read"""
    try:
        return api_views.record(doc)
    except ValueError as exc:
        raise errors.CloudError(
            f'Cinder\'s answer for volume {name} cannot be read: {exc}.'
            ) from None


def attachment(said: object) -> Attachment:
    """An attachment as the API's detailed view gives it.

    :raises ValueError: where it cannot be read
    """
    doc = fields.Field(said)
    conn = doc['connection_info']
    if conn.value is None:
        conn = fields.Field({}, conn.place)
    data = conn if conn['data'].value is None else conn['data']
    return Attachment(
        doc['id'].name(), doc['volume_id'].name(), doc['status'].name(),
        server_id=doc['instance'].name_or_none(),
        targets=_targets(data))


def _targets(data: fields.Field) -> tuple[tuple[str, str], ...]:
    """Those of iSCSI: one, or the paths of multipath."""
    portals, names = ([each.name() for each in data[key].items()]
                      if data[key].value else []
                      for key in ('target_portals', 'target_iqns'))
    if not portals and data['target_iqn'].value is not None:
        portals = [data['target_portal'].name()]
        names = [data['target_iqn'].name()]
    return tuple(zip(portals, names))


def hidden(docs: Sequence[object], fields: Mapping[str, str]) -> str | None:
    """Why a list without one of the fields is no use, a clause, or None."""
    items = [doc for doc in docs if isinstance(doc, dict)]
    return next((why for field, why in fields.items() if items and not any(
        field in doc for doc in items)), None)


def of_one_project(private: Sequence[object]) -> str | None:
    """Whether an empty list of volumes is that of one project, a clause.

    :param private: the types listed for ``is_public=false``, which Cinder
        ignores unless the account sees all projects
    """
    return _ALL_PROJECTS if any(
        isinstance(doc, dict) and doc.get('is_public') is True
        for doc in private) else None
