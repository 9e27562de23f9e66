# SPDX-License-Identifier: Apache-2.0
"""The logical volume that holds the data, and the copies to be removed.

While Cinder completes a migration the target renames the copy's logical
volume to the volume's own name, both records get their new names, and the
source swaps the records. If it dies in between, a record may name a logical
volume that does not exist, or both records the same one, and a copy may be
left that no record names. Cinder's list of the logical volumes of each
backend shows all that: nothing is removed before the volume's own has been
found where its record says.

The copy of an encrypted volume names the volume's own key, which Cinder's API
deletes together with a record: no such copy is removed.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from serifos.facts.inventory import Inventory
from serifos.facts.inventory import Record
from serifos.facts import names

LogicalVolumes = Mapping[str, Collection[str] | None]
"""Pool → the logical volumes of its backend; None where it lists none."""


@dataclasses.dataclass(frozen=True)
class Removal:
    """How a hidden record is removed.

    :param with_data: its logical volume is its own and is deleted with it;
        else only the record is removed
    """

    record: Record
    with_data: bool

    def sentence(self, words: str) -> str:
        at = f'{words}, {self.record.id} on {self.record.pool}'
        if self.with_data:
            return f'{at}, will be deleted.'
        return f'The record of {at[0].lower()}{at[1:]}, will be removed.'


@dataclasses.dataclass(frozen=True)
class Orphan:
    """A logical volume with a copy of the data that no record names.

    :param group: its volume group, as far as that is known
    :param copy: the hidden record that it was created for and that named it
        before it was renamed, None where there is none
    """

    name: str
    pool: str
    group: str
    copy: str | None = None

    @property
    def host(self) -> str:
        return names.host(self.pool)

    def before(self) -> str:
        """How to have Cinder delete it together with its record."""
        return (f'Cinder will not delete {self.name} on {self.pool}, a copy '
                'of the data that no record names. To have it wiped and '
                f'deleted too, run on {self.host}: lvrename {self.group} '
                f'{self.name} volume-{self.copy}  - and run recover again.')

    def after(self) -> str:
        """How to have it deleted when its record is gone.

        On the wrong host the first command renames the volume's own, which
        can be undone, and the second finds nothing: no data is lost.
        """
        return (f'{self.name} is left on {self.pool}, a copy of the data '
                'that no record names. To have Cinder wipe and delete it, '
                f'run on {self.host}: lvrename {self.group} {self.name} '
                f'left-{self.name}  - then: cinder manage {self.pool} '
                f'left-{self.name}  - and delete the volume that this makes')


@dataclasses.dataclass(frozen=True)
class Copies:
    """The copies of one volume.

    :param risk: why nothing may be removed yet, and what to do about it
    """

    risk: str | None
    removals: tuple[Removal, ...] = ()
    orphans: tuple[Orphan, ...] = ()


def find(record: Record, halves: Sequence[Record],
         held: LogicalVolumes, groups: Mapping[str, str]) -> Copies:
    """The records and copies of a volume that do not hold its data.

    :param groups: pool → its volume group
    """
    pool = record.pool or ''
    there = held.get(pool)
    if there is not None and lv_name(record) not in there:
        return Copies(_lost(record, halves, there, held, groups))
    if there is None and (same := next(
            (half for half in halves if half.lv_id == record.lv_id
             and (half.target_of or _same(record, half))), None)):
        return Copies(
            f'its copy {same.id} on {same.pool} and the volume name the same '
            f'logical volume, {lv_name(same)}, so that deleting the copy '
            'could delete the data, and Cinder does not list the logical '
            'volumes there; look for the data on both hosts')
    keyed = [half for half in halves if shares_key(record, half)]
    if keyed:
        return Copies(_key(keyed))
    removals = tuple(Removal(half, with_data=not _same(record, half)
                             and _may_exist(half, held)) for half in halves)
    return Copies(None, removals, _orphans(
        record, removals, held, groups))


def shares_key(record: Record, half: Record) -> bool:
    """Whether the volume's key would be deleted together with its copy.

    Of an encryption that a retype changes the copy has a key of its own, but
    Cinder does not always say which.
    """
    return record.encrypted and half.encrypted


def _key(halves: Sequence[Record]) -> str:
    """The risk where copies name the volume's encryption key."""
    its = ' and '.join(f'{half.id} on {half.pool}' for half in halves)
    ids = ', '.join(f"'{half.id}'" for half in halves)
    return (f'its copy {its} names the encryption key of the volume, which '
            'Cinder would delete together with the copy, and nobody could '
            "read the volume again. In Cinder's database take the key off "
            'the copy, not off the volume: UPDATE volumes SET '
            f'encryption_key_id = NULL WHERE id IN ({ids}); - and run '
            'recover again. Do not delete the copy otherwise')


def lv_name(record: Record) -> str:
    """The logical volume that a record names."""
    return f'volume-{record.lv_id}'


def volume_groups(inventory: Inventory) -> dict[str, str]:
    """Pool → its volume group, for the pools of Cinder's LVM driver."""
    return {pool.name: pool.volume_group for pool in inventory.pools
            if pool.volume_group is not None}


def _lost(record: Record, halves: Sequence[Record],
          there: Collection[str], held: LogicalVolumes,
          groups: Mapping[str, str]) -> str:
    """The risk where the record names a logical volume that is missing."""
    pool = record.pool or ''
    its = f'there is no {lv_name(record)} on {pool}, which the volume names'
    may_be = sorted({f'volume-{record.id}', *map(lv_name, halves)} & {*there})
    if len(may_be) == 1:
        return (f'{its}; its data is in {may_be[0]}, which Cinder did not '
                f'get to rename. Run on {names.host(pool)}: lvrename '
                f'{_group(groups, pool)} {may_be[0]} {lv_name(record)}  - and '
                'run recover again')
    wanted = _names(record, halves)
    seen = ', '.join(f'{name} on {where}' for where, names_there
                     in held.items() for name in sorted(
                         wanted & {*(names_there or ())})) or 'none'
    return (f'{its}. Look for the data with lvs; of the names that it may '
            f'have these are there: {seen}')


def _orphans(record: Record, removals: Sequence[Removal],
             held: LogicalVolumes, groups: Mapping[str, str]
             ) -> tuple[Orphan, ...]:
    halves = [removal.record for removal in removals]
    named = {(each.pool, lv_name(each)) for each in (record, *halves)}
    wanted = _names(record, halves)
    copies = {half.pool: half.id for half in halves
              if half.target_of and half.pool != record.pool
              and half.lv_id == half.id}
    return tuple(
        Orphan(name, pool, _group(groups, pool), copies.get(pool))
        for pool, there in held.items()
        for name in sorted(wanted & {*(there or ())})
        if (pool, name) not in named)


def _names(record: Record, halves: Sequence[Record]) -> set[str]:
    """The names that the logical volumes of a migration can have."""
    return {name for each in (record, *halves)
            for name in (lv_name(each), f'volume-{each.id}')}


def _same(record: Record, half: Record) -> bool:
    return record.lv_id == half.lv_id and record.pool == half.pool


def _may_exist(record: Record, held: LogicalVolumes) -> bool:
    listed = held.get(record.pool or '')
    return listed is None or lv_name(record) in listed


def _group(groups: Mapping[str, str], pool: str) -> str:
    return groups.get(pool, 'VOLUME_GROUP')
