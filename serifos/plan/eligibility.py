# SPDX-License-Identifier: Apache-2.0
"""Reasons why a volume may not be migrated, whatever the target.

What Cinder itself would refuse, what it would accept and then fail at, and
what operators forbid. The reason is written to ``cluster.json`` as the
volume's ``movable`` and to the plan as its refusal.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses

from serifos.facts import inventory as inv
from serifos.facts import reason as rs
from serifos.facts import servers as sv
from serifos.facts import settings
from serifos.facts import times
from serifos.plan.affinity import labels
from serifos.plan import attached

PIN = 'serifos:pin'
"""Metadata by which a tenant or an operator pins a volume."""

AT_REST = (None, 'none', 'success', 'error', 'deleting')
"""Migration statuses from which Cinder starts a migration."""

_NOT_REPLICATED = (None, 'disabled', 'not-capable')
_MOVED, _COOLS = 'moved at ', '; cools down until '
_NO = ('0', 'f', 'false', 'off', 'n', 'no', '')


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rules:
    """The operator's settings, and recent migrations from the journal.

    :param allow_attached: whether volumes in use may be moved, by Nova;
        None for: where there is a Nova to ask
    :param servers: as far as they are known
    :param kind: what its volume type says
    :param balance: whether volumes move of which no type says anything
    :param server_volumes: as of :func:`.labels.of`
    :param cool_down_s: how long a moved volume stays where it is, where its
        type says nothing; None for that none does, whatever types say
    :param moved_at: volume → when it was last moved, seconds of the epoch
    :param back_off_until: volume → until when it is left alone
    """

    allow_attached: bool | None = None
    servers: sv.Servers = sv.NOT_CONFIGURED.servers()
    kind: settings.TypeSettings = settings.TypeSettings()
    balance: bool = True
    server_volumes: str = labels.ANY
    excluded_projects: frozenset[str] = frozenset()
    cool_down_s: float | None = 0.0
    moved_at: Mapping[str, float] = dataclasses.field(default_factory=dict)
    back_off_until: Mapping[str, float] = dataclasses.field(
        default_factory=dict)


def hidden(record: inv.Record) -> bool:
    """Whether a record is only a copy that belongs to a migration.

    That is the new copy being written, or the old one being deleted.
    """
    return record.target_of is not None or leftover_of(record) is not None


def leftover_of(record: inv.Record) -> str | None:
    """The volume whose old copy this record is, waiting to be deleted."""
    said, _, source = (record.description or '').rpartition(' ')
    if said == 'migration src for' and (
            record.status in ('deleting', 'error_deleting')
            or record.migration_status == 'deleting'):
        return source
    return None


def migrating(record: inv.Record) -> bool:
    return record.migration_status not in AT_REST


def why_not(record: inv.Record, rules: Rules,
            now: float) -> rs.Reason | None:
    """Why a volume may not be moved, or None where it may.

    Zone, backend and space depend on the target: see :mod:`.limits`.

    :param now: seconds of the epoch
    """
    return (_cinder(record) or _operator(record, rules, now)
            or _in_use(record, rules) or _cooling(record, rules, now))


def cools_down(movable: bool | str) -> bool:
    """Whether a volume stays for its last move alone.

    :param movable: True, or why it may not be moved
    """
    return rs.code(movable) == rs.Code.COOL_DOWN or (
        isinstance(movable, str) and movable.startswith(_MOVED)
        and _COOLS in movable)


def _cinder(record: inv.Record) -> rs.Reason | None:
    if migrating(record):
        return rs.Reason(f'a migration of it is {record.migration_status}',
                         rs.Code.MIGRATING)
    if record.status not in ('available', 'in-use'):
        return rs.Reason(f'its status is {record.status}', rs.Code.STATUS)
    if record.snapshots:
        return rs.Reason(
            'a snapshot holds it' if record.snapshots == 1 else
            f'{record.snapshots} snapshots hold it', rs.Code.SNAPSHOTS)
    if record.group_id:
        return rs.Reason('it is in a group', rs.Code.IN_GROUP)
    if record.replication_status not in _NOT_REPLICATED:
        return rs.Reason(
            f'its replication is {record.replication_status}',
            rs.Code.REPLICATED)
    if record.encrypted and (record.status == 'in-use' or record.attachments):
        return rs.Reason(
            'it is encrypted and in use: Nova does not copy such volumes',
            rs.Code.ENCRYPTED_IN_USE)
    return None


def _operator(record: inv.Record, rules: Rules,
              now: float) -> rs.Reason | None:
    if record.metadata.get(PIN, 'no').strip().lower() not in _NO:
        return rs.Reason(f'its metadata says {PIN}', rs.Code.PINNED)
    if record.project_id in rules.excluded_projects:
        return rs.Reason('its project is excluded',
                         rs.Code.PROJECT_EXCLUDED)
    why = rules.kind.why_not(rules.balance)
    if why is not None:
        return why
    until = rules.back_off_until.get(record.id, 0.0)
    if now < until:
        return rs.Reason(
            'a migration of it failed or was refused; left alone until '
            f'{times.text(until)}', rs.Code.BACK_OFF)
    return None


def _cooling(record: inv.Record, rules: Rules,
             now: float) -> rs.Reason | None:
    """The last of the reasons: where it is told, no other one holds."""
    moved, cool_down_s = rules.moved_at.get(record.id), rules.cool_down_s
    if moved is None or cool_down_s is None:
        return None
    if rules.kind.cool_down_s is not None:
        cool_down_s = rules.kind.cool_down_s
    if now < moved + cool_down_s:
        return rs.Reason(f'{_MOVED}{times.text(moved)}{_COOLS}'
                         f'{times.text(moved + cool_down_s)}',
                         rs.Code.COOL_DOWN)
    return None


def _in_use(record: inv.Record, rules: Rules) -> rs.Reason | None:
    if record.status != 'in-use' and not record.attachments:
        return None
    if rules.allow_attached is False:
        return rs.Reason('attached', rs.Code.ATTACHED)
    if not record.attachments:
        return rs.Reason(
            'it is in use and has no attachment: its server is not known',
            rs.Code.NO_ATTACHMENT)
    if len(record.attachments) > 1:
        return rs.Reason(f'{len(record.attachments)} servers share it',
                         rs.Code.SHARED_BY_SERVERS)
    if record.multiattach:
        return rs.Reason(
            'it is multi-attach and in use: what a second server writes '
            'during the copy would be lost', rs.Code.MULTIATTACH_IN_USE)
    if '' in record.attachments:
        return rs.Reason('it is attached to a host itself, not to a server',
                         rs.Code.ATTACHED_TO_HOST)
    if rules.servers.absent is None:
        return attached.why_not(record.attachments, rules.servers)
    if rules.allow_attached is None:
        return rs.Reason('attached, and there is no Nova to ask: '
                         f'{rules.servers.absent}', rs.Code.NO_NOVA)
    return None
