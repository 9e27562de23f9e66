# SPDX-License-Identifier: Apache-2.0
"""What Cinder leaves out of lists for an account without a right.

A request that an account may not make gets a 403. A list that it may ask for
comes without the volumes of other projects, or without a field, and says
nothing; planned for, such volumes would be no load, or move although their
project is excluded.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence

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
