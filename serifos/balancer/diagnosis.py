# SPDX-License-Identifier: Apache-2.0
"""The diagnosis of one migration: forgotten by Cinder or not, and why."""

from __future__ import annotations

import dataclasses

from serifos.balancer import copies
from serifos.facts import inventory as inv
from serifos.plan import eligibility


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
    """

    record: inv.Record
    forgotten: bool
    why: str
    halves: tuple[inv.Record, ...] = ()
    broken: bool = False
    unseen: tuple[inv.Record, ...] = ()
    removals: tuple[copies.Removal, ...] = ()
    orphans: tuple[copies.Orphan, ...] = ()
    listed: bool = False

    @property
    def over(self) -> bool:
        """Whether Cinder does nothing for it any more."""
        return self.forgotten or self.broken

    @property
    def ends(self) -> tuple[inv.Record, ...]:
        """The volume's record and the hidden ones."""
        return (self.record, *self.halves)

    @property
    def command(self) -> str:
        return f'serifos-balancer recover {self.record.id}'

    def sentence(self) -> str:
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
        return [*(orphan.before() for orphan in self.orphans if orphan.copy),
                *(removal.sentence(_words(removal.record))
                  for removal in self.removals),
                f'The volume stays on {self.record.pool}, with its data.']


def _words(half: inv.Record) -> str:
    return 'The half-made copy' if half.target_of else 'The old copy'
