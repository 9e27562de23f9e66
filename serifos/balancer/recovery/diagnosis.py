# SPDX-License-Identifier: Apache-2.0
"""The diagnosis of one migration: forgotten by Cinder or not, and why."""

from __future__ import annotations

import dataclasses

from serifos.balancer import changes
from serifos.balancer.recovery import copies
from serifos.facts import activity
from serifos.facts.inventory import Record
from serifos.facts import servers
from serifos.facts.servers import Action
from serifos.plan import eligibility

QUIET_S = 900.0
"""After this time without a request no copy is under way."""

CALL_S = 120.0
"""After which no RPC between services is under way: twice 60 s, Cinder's
rpc_response_timeout, for the call and for its time in the queue."""

STILL_S = 30.0
"""For which a copy must be quiet where what copied was restarted or ended."""

SKEW_S = 60.0
"""By which the clocks of Nova and Cinder may differ."""

SWAP = 'swap_volume'
"""Nova's name of the action that copies a volume."""

NEW_DOMAIN = ('evacuate', 'migrate', 'reboot', 'rebuild', 'rescue', 'resize',
              'shelve', 'start', 'stop', 'unshelve')
"""Actions that end the QEMU process of a server, and its mirrors.

The server is then made anew from Nova's own record, which names the volume
until Nova has copied it. A nova-compute that still copies a volume lets none
of them begin, or notices at once that its copy is over.
"""

STOPPED = ('stopped', 'shelved', 'shelved_offloaded')
"""States (``vm_state``) of a server without a QEMU process."""


@dataclasses.dataclass(frozen=True)
class Swap:
    """What Cinder and Nova say of the copy of a volume in use.

    :param own: the attachments of the volume
    :param of_copy: those of the copy
    :param server: None where it is gone
    :param service: of its compute host
    :param doings: since the copy was made
    :param problem: why Nova could not be asked, a clause
    :param resumed: whether a recovery was begun that did not end
    :param down_at: when its nova-compute was last seen to be down, seconds of
        the epoch; 0 for never
    """

    copy: Record
    own: tuple[servers.Attachment, ...] = ()
    of_copy: tuple[servers.Attachment, ...] = ()
    server: servers.Server | None = None
    service: servers.ComputeService | None = None
    doings: servers.Doings = servers.Doings()
    problem: str | None = None
    resumed: bool = False
    down_at: float = 0.0

    @property
    def waits(self) -> bool:
        """Whether a nova-compute that is down has yet to begin it."""
        return self.copy.status == 'reserved' and (
            self.service is not None and not self.service.up)

    @property
    def server_id(self) -> str | None:
        return next((each.server_id for each in (*self.of_copy, *self.own)
                     if each.server_id), None)


@dataclasses.dataclass(frozen=True)
class Diagnosis:
    """Whether Cinder has forgotten a migration, and why.

    :param halves: its hidden records; where the volume itself is at rest
        they are all that is left of it
    :param broken: Cinder has forgotten it in a state in which ``recover``
        is not safe; ``why`` says what to do
    :param unseen: the records whose logical volumes telemetry does not see,
        which is safe only where these do not exist
    :param removals: how its hidden records are removed, where it is forgotten
    :param orphans: copies that no record names
    :param listed: whether Cinder lists the logical volumes of its backend
    :param swap: where Nova copies the volume, which is in use
    :param stuck: what would go on with it is down, or does not; of a volume
        in use, libvirt may still mirror it to its copy, or the server use that
    :param moved: the server uses the copy, or seems to
    :param cure: what a person does on the compute host then; empty where
        nothing but what ``why`` says helps
    :param keep: the copy becomes a volume of its own, since the server may
        have written only to it
    :param complete: the server uses the copy, and Cinder, asked once more to
        complete the migration, makes that the volume
    """

    record: Record
    forgotten: bool
    why: str
    halves: tuple[Record, ...] = ()
    broken: bool = False
    unseen: tuple[Record, ...] = ()
    removals: tuple[copies.Removal, ...] = ()
    orphans: tuple[copies.Orphan, ...] = ()
    listed: bool = False
    swap: Swap | None = None
    stuck: bool = False
    moved: bool = False
    cure: tuple[str, ...] = ()
    keep: bool = False
    complete: bool = False

    @property
    def over(self) -> bool:
        """Whether neither Cinder nor Nova does anything for it any more."""
        return self.forgotten or self.broken or self.stuck

    @property
    def data(self) -> Record:
        """The record that names the logical volume with the data."""
        return self.swap.copy if self.swap and self.complete else self.record

    @property
    def undone(self) -> changes.Changes:
        """The changes that Cinder undoes once it completes the migration."""
        return {} if self.data is self.record else changes.since(
            changes.held(dataclasses.replace(
                self.data, attachments=self.record.attachments)),
            changes.held(self.record))

    @property
    def kept(self) -> Record | None:
        """The copy that is kept, where its logical volume is its own."""
        return next((removal.record for removal in self.removals
                     if self.keep and removal.with_data
                     and removal.record.target_of == self.record.id), None)

    @property
    def renamed(self) -> bool:
        """Whether Cinder has exchanged the names of it and its copy.

        Of a volume in use; asked to complete, it exchanges them once more.
        """
        copy = self.swap and self.swap.copy
        return copy is not None and (
            copy.lv_id != copy.id or self.record.lv_id == copy.id)

    @property
    def ends(self) -> tuple[Record, ...]:
        """The volume's record and the hidden ones."""
        return (self.record, *self.halves)

    @property
    def command(self) -> str:
        return f'serifos-balancer recover {self.record.id}'

    def sentence(self) -> str:
        if self.stuck:
            return (f'The migration of volume {self.record.id}'
                    f'{", which is in use," if self.swap else ""} is stuck: '
                    f'{self.why}.' + (
                        f' To end it, run: {self.command}'
                        if self.cure else ''))
        if self.broken:
            return (f'The migration of volume {self.record.id} broke off '
                    f'while Cinder completed it: {self.why}.')
        if not self.forgotten:
            return (f'The migration of volume {self.record.id} may still '
                    'run, or Cinder may still clean up after it: '
                    f'{self.why}.')
        if eligibility.migrating(self.record):
            return (f'Cinder has forgotten the migration of volume '
                    f'{self.record.id}: {self.why}. Recover it with: '
                    f'{self.command}')
        half = self.halves[0]
        return (f'{_words(half)} of volume {self.record.id} was left on '
                f'{half.pool}: {self.why}. Recover it with: {self.command}')

    def plan(self) -> list[str]:
        """The steps of the recovery, a sentence each."""
        if self.complete:
            return [*_completed(self.data), *(
                ['What was changed meanwhile is undone: '
                 f'{changes.words(self.undone)}. Afterwards run: '
                 f'serifos-balancer reapply {self.record.id}']
                if self.undone else [])]
        ending = [f'The attachment {each.id} of the copy {each.volume} to '
                  f'server {each.server_id} will be deleted.'
                  for each in (self.swap.of_copy if self.swap else ())]
        copy = self.kept
        return [*ending, *([_kept(copy)] if copy else []),
                *(orphan.before() for orphan in self.orphans if orphan.copy),
                *(removal.sentence(_words(removal.record))
                  for removal in self.removals if removal.record is not copy),
                self._stays]

    @property
    def _stays(self) -> str:
        return f'The volume stays on {self.record.pool}, with its data' + (
            '; what was written only to the copy is not in it.'
            if self.kept else '.')


def _kept(copy: Record) -> str:
    """A sentence: the copy of a migration is not deleted, and why."""
    return (f'The copy {copy.id} on {copy.pool} stays, as a volume of its '
            'own: where nova-compute died once the server had got it, what '
            'was written from then on is only in the copy. Once the data of '
            'the volume is found complete: openstack volume delete '
            f'{copy.id}')


def _completed(copy: Record) -> list[str]:
    return ['Cinder will be asked to complete the migration: the copy '
            f'{copy.id} becomes the volume.',
            f'The volume is on {copy.pool} then, with the data that its '
            'server uses. Where it cannot be detached later, reboot the '
            'server, hard: Nova may name an attachment that is gone.']


def _words(half: Record) -> str:
    return 'The half-made copy' if half.target_of else 'The old copy'


def copying(swap: Swap) -> Action | None:
    """Nova's record of the copy, None where there is none."""
    return next((action for action in swap.doings.actions
                 if action.name == SWAP), None)


def uses_copy(found: Diagnosis) -> str | None:
    """Proof that the server uses the copy, a clause, or None."""
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


def newer_copy(found: Diagnosis,
               observed: activity.Observed) -> str | None:
    """That only the copy was written, a clause, or None.

    While libvirt copies, it reads the volume as it writes the copy, and then
    writes both.
    """
    assert found.swap is not None
    own, other = (observed.volumes.get(each.id)
                  for each in (found.record, found.swap.copy))
    if own and other and own.quiet_s - other.unwritten_s > CALL_S:
        return (f'the copy was written {other.unwritten_s:.0f} s ago, and the '
                f'volume has had no request for {own.quiet_s:.0f} s')
    return None


def mirror_ended(found: Diagnosis,
                 observed: activity.Observed) -> str | None:
    """Proof that the QEMU that mirrored is gone, a clause, or None."""
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
