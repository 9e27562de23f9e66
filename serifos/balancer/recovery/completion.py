# SPDX-License-Identifier: Apache-2.0
"""Migrations of volumes in use that Cinder has not completed.

Once the server has the copy, Nova ends the volume's own attachment and asks
Cinder to complete the migration: the copy becomes the volume. Where nova-
compute or a cinder-volume dies before that is done, or the database is away,
nobody asks again. Cinder completes it if it is asked once more.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses

from serifos.balancer.recovery import copies
from serifos.balancer.recovery import diagnosis
from serifos.facts.inventory import Record
from serifos.plan import eligibility


def possible(found: diagnosis.Diagnosis) -> bool:
    """Whether the copy becomes the volume where Cinder is asked to complete.

    Cinder begins with an exchange of the names and places of both. Where it
    had done that before it died it would do it again: the volume then gets
    the place that it had, and cannot be detached.
    """
    swap, record = found.swap, found.record
    if swap is None or swap.problem is not None or swap.server is None:
        return False
    return (not swap.own and not record.attachments
            and bool(swap.of_copy)
            and all(each.status == 'attached' for each in swap.of_copy)
            and swap.copy.target_of == record.id and not found.renamed)


def diagnose(found: diagnosis.Diagnosis, why: str) -> diagnosis.Diagnosis:
    """Forgotten, and Cinder is to be asked to complete it."""
    return dataclasses.replace(found, forgotten=True, complete=True, why=why)


def confirm(found: diagnosis.Diagnosis,
            held: copies.LogicalVolumes) -> diagnosis.Diagnosis:
    """The diagnosis, confirmed by the logical volumes that exist.

    :param held: those of the pools of its records
    """
    copy = found.data
    there = held.get(copy.pool or '')
    name = copies.lv_name(copy)
    if there is not None and name not in there:
        return dataclasses.replace(
            found, forgotten=False, complete=False, broken=True,
            why=f'there is no {name} on {copy.pool}, which its server uses; '
            'look for the data with lvs')
    return dataclasses.replace(found, listed=there is not None)


def names_old_copy(record: Record, halves: Sequence[Record],
                   age_s: float) -> str | None:
    """What to do where an attachment still names the old copy, or None.

    That is the last that Cinder corrects when it completes a migration; the
    server uses the volume. No API moves an attachment to another volume.
    """
    old = next((half for half in halves if half.attachments
                and eligibility.leftover_of(half) == record.id), None)
    if (old is None or record.attachments or record.status != 'in-use'
            or eligibility.migrating(record) or age_s < diagnosis.CALL_S):
        return None
    return (f'the attachment of its server names the old copy {old.id} on '
            f'{old.pool}; correct it in Cinder\'s database: UPDATE '
            f"volume_attachment SET volume_id = '{record.id}' WHERE volume_id "
            f"= '{old.id}' AND deleted = 0; {diagnosis.QUIET_S / 60:.0f} min "
            'later the old copy is deleted by: serifos-balancer recover '
            f'{record.id}')
