# SPDX-License-Identifier: Apache-2.0
"""Copies of volumes in use that Nova does not end, and their attachments.

libvirt mirrors all that is written to the copy, until :meth:`end_mirror`.
"""

from __future__ import annotations

import dataclasses

from serifos.facts import cinder_errors
from serifos.facts.inventory import Record
from serifos.facts.servers import Attachment
from tests.fakes import migrations

SWAPS = {'nova killed': 'attaching', 'nova moved': 'in-use',
         'nova not begun': 'reserved'}
"""Faults, and what the copy is for ever.

``nova killed``: nova-compute dies in the copy. ``nova moved``: it dies when
it has given the server the copy. ``nova not begun``: its message is lost.
"""


class Swaps(migrations.Migrations):
    """Migrations, some of which Nova begins and does not end."""

    def attachments_of(self, volume_id: str) -> tuple[Attachment, ...]:
        record = self.volume(volume_id)
        return () if record is None else tuple(
            each for each in self.swaps.values()
            if each.volume == volume_id) or tuple(
            Attachment(f'attachment-{volume_id}', volume_id, 'attached',
                       server, _target(record))
            for server in record.attachments)

    def delete_attachment(self, attachment_id: str) -> None:
        self._answer()
        self.swaps.pop(attachment_id, None)

    def complete(self, volume_id: str, copy_id: str) -> None:
        """As Cinder does: it exchanges the names each time it is asked."""
        self._answer()
        was, copy = self._records[volume_id], self._records[copy_id]
        if copy.target_of != volume_id or was.migration_status is None:
            raise cinder_errors.Refused(
                'Cinder refuses: Invalid volume: Source volume not '
                'mid-migration.')
        its = {name: dataclasses.replace(each, volume=volume_id)
               for name, each in self.swaps.items() if each.volume == copy_id}
        self._records[volume_id], self._records[copy_id] = (
            migrations.exchanged(was, copy))
        self.change(volume_id, pool=copy.pool, name_id=copy.lv_id,
                    migration_status='success', status='in-use',
                    attachments=tuple(
                        each.server_id for each in its.values()))
        self.change(copy_id, pool=was.pool, name_id=was.name_id or volume_id,
                    migration_status='deleting', status='deleting')
        self.swaps.update(its)
        self._wipe(copy_id)

    def end_mirror(self, volume_id: str) -> None:
        """What virsh blockjob --abort does."""
        self._live()
        for half in self.halves(volume_id):
            self._still(half.id)

    def still(self, volume_id: str) -> None:
        """The server does nothing any more, or works on the copy alone."""
        self._live()
        self.workloads.pop(volume_id)
        self._still(volume_id)

    def _scheduled(self, was: Record, pool: str,
                   fault: str | None) -> None:
        super()._scheduled(was, pool, fault)
        for half in [each for each in self._records.values()
                     if each.target_of == was.id and fault in SWAPS]:
            status = SWAPS[fault or '']
            self.change(half.id, status=status)
            self.swaps[f'attachment-{half.id}'] = Attachment(
                f'attachment-{half.id}', half.id,
                'attached' if status == 'in-use' else status,
                was.attachments[0],
                () if status == 'reserved' else _target(half))
            if status == 'reserved':
                self._still(was.id, half.id)

    def _copied(self, was: Record, half: str, fault: str | None) -> None:
        if fault not in SWAPS:
            super()._copied(was, half, fault)


def _target(record: Record) -> tuple[tuple[str, str], ...]:
    host = (record.pool or '').partition('@')[0]
    return ((f'{host}:3260',
             f'iqn.2010-10.org.openstack:volume-{record.lv_id}'),)
