# SPDX-License-Identifier: Apache-2.0
"""Reader of attachments in the replies of Cinder's API.

What their connections have beside the targets, such as CHAP's password, is
not read.
"""

from __future__ import annotations

from serifos.facts import fields
from serifos.facts.servers import Attachment


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
