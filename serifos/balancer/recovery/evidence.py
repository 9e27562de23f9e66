# SPDX-License-Identifier: Apache-2.0
"""Evidence of whether a server uses its volume or the copy.

Cinder and Nova say it for certain, or the requests to both logical volumes
make it seem so.
"""

from __future__ import annotations

from serifos.balancer.recovery import diagnosis
from serifos.facts import activity
from serifos.facts.servers import Action

SKEW_S = 60.0
"""By which the clocks of Nova and Cinder may differ."""

SWAP = 'swap_volume'

NEW_DOMAIN = ('evacuate', 'migrate', 'reboot', 'rebuild', 'rescue', 'resize',
              'shelve', 'start', 'stop', 'unshelve')
"""Actions that end the QEMU process of a server, and its mirrors.

The server is then made anew from Nova's own record, which names the volume
until Nova has copied it. A nova-compute that still copies a volume lets none
of them begin, or notices at once that its copy is over.
"""

STOPPED = ('stopped', 'shelved', 'shelved_offloaded')
"""States (``vm_state``) of a server without a QEMU process."""


def copying(swap: diagnosis.Swap) -> Action | None:
    """Nova's record of the copy, None where there is none."""
    return next((action for action in swap.doings.actions
                 if action.name == SWAP), None)


def moved(found: diagnosis.Diagnosis) -> str | None:
    """Why the server uses the copy for certain, a clause, or None."""
    swap = found.swap
    assert swap is not None
    copy = swap.copy
    words = f'its server uses its copy {copy.id} on {copy.pool} already'
    if any(each.status == 'attached' for each in swap.of_copy):
        return f'{words}: Cinder has it as attached'
    if found.renamed:
        return f'{words}: Cinder has begun to exchange their names'
    if swap.doings.attachment_id in [each.id for each in swap.of_copy]:
        return f'{words}: Nova names its attachment'
    if any(copy.lv_id in iqn for each in swap.own
           for _, iqn in each.targets):
        return f'{words}: the attachment of the volume names it'
    return None


def newer(found: diagnosis.Diagnosis,
          observed: activity.Observed) -> str | None:
    """That only the copy was written, a clause, or None.

    While libvirt copies, it reads the volume as it writes the copy, and then
    writes both.
    """
    assert found.swap is not None
    own, other = (observed.volumes.get(each.id)
                  for each in (found.record, found.swap.copy))
    if own and other and own.quiet_s - other.unwritten_s > diagnosis.CALL_S:
        return (f'the copy was written {other.unwritten_s:.0f} s ago, and the '
                f'volume has had no request for {own.quiet_s:.0f} s')
    return None


def over(found: diagnosis.Diagnosis,
         observed: activity.Observed) -> str | None:
    """Why the QEMU process that mirrored is gone, a clause, or None."""
    swap = found.swap
    assert swap is not None
    server, action = swap.server, copying(swap)
    if server is None:
        return None if swap.problem else 'its server is gone'
    # Nova says so, too, of a domain that libvirt does not show it.
    if server.off is not None and server.task_state is None and (
            swap.copy.id in observed.volumes):
        return (f'its server {server.id} does not run (power state '
                f'{server.off}; reboot it, hard)')
    if server.vm_state in STOPPED and server.task_state is None:
        return f'its server {server.id} is {server.status}'
    begun = action.began_at if action else swap.copy.updated_at or 0.0
    since = next((each for each in swap.doings.actions
                  if each.name in NEW_DOMAIN and each.ended_at is not None
                  and each.began_at > begun and not each.failed), None)
    return since and f'{since.name} was done with its server {server.id}'
