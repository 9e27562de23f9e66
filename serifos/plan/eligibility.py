# SPDX-License-Identifier: Apache-2.0
"""Reasons why a volume may not be migrated, whatever the target.

What Cinder itself would refuse, what it would accept and then fail at, and
what operators forbid. The reason is written to ``cluster.json`` as the
volume's ``movable`` and to the plan as its refusal.

Nova refuses the copy of a server in another state than active, paused or
resized or with a task under way, after Cinder has accepted the migration:
then the reason is only in the log of cinder-volume. So it is asked first.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses

from serifos.facts.inventory import Record
from serifos.facts import labels
from serifos.facts import refusals
from serifos.facts.refusals import Code
from serifos.facts.refusals import Reason
from serifos.facts.servers import NOT_CONFIGURED
from serifos.facts.servers import Servers
from serifos.facts import settings
from serifos.facts import times

PIN = 'serifos:pin'
"""Metadata by which a tenant or an operator pins a volume."""

AT_REST = (None, 'none', 'success', 'error', 'deleting')
"""Migration statuses from which Cinder starts a migration."""

COPIED = ('active', 'paused', 'resized')
"""States (``vm_state``) of a server whose volumes Nova copies."""

_NOT_REPLICATED = (None, 'disabled', 'not-capable')
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
    servers: Servers = NOT_CONFIGURED.servers()
    kind: settings.TypeSettings = settings.TypeSettings()
    balance: bool = True
    server_volumes: str = labels.ANY
    excluded_projects: frozenset[str] = frozenset()
    cool_down_s: float | None = 0.0
    moved_at: Mapping[str, float] = dataclasses.field(default_factory=dict)
    back_off_until: Mapping[str, float] = dataclasses.field(
        default_factory=dict)


def hidden(record: Record) -> bool:
    """Whether a record is only a copy that belongs to a migration.

    That is the new copy being written, or the old one being deleted.
    """
    return record.target_of is not None or leftover_of(record) is not None


def leftover_of(record: Record) -> str | None:
    """The volume whose old copy this record is, waiting to be deleted."""
    said, _, source = (record.description or '').rpartition(' ')
    if said == 'migration src for' and (
            record.status in ('deleting', 'error_deleting')
            or record.migration_status == 'deleting'):
        return source
    return None


def migrating(record: Record) -> bool:
    return record.migration_status not in AT_REST


def why_not(record: Record, rules: Rules,
            now: float) -> Reason | None:
    """Why a volume may not be moved, or None where it may.

    Zone, backend and space depend on the target: see :mod:`.limits`.

    :param now: seconds of the epoch
    """
    return (_cinder(record) or _operator(record, rules, now)
            or _in_use(record, rules) or _cooling(record, rules, now))


def cools_down(movable: bool | str) -> bool:
    """Whether a volume stays only for its last move.

    :param movable: True, or why it may not be moved
    """
    return refusals.code(movable) == Code.COOL_DOWN


def _cinder(record: Record) -> Reason | None:
    if migrating(record):
        return Code.MIGRATING.of(status=record.migration_status)
    if record.status not in ('available', 'in-use'):
        return Code.STATUS.of(status=record.status)
    if record.snapshots:
        return Code.SNAPSHOTS.of(
            snapshots='a snapshot holds' if record.snapshots == 1 else
            f'{record.snapshots} snapshots hold')
    if record.group_id:
        return Code.IN_GROUP.of()
    if record.replication_status not in _NOT_REPLICATED:
        return Code.REPLICATED.of(status=record.replication_status)
    if record.encrypted and (record.status == 'in-use' or record.attachments):
        return Code.ENCRYPTED_IN_USE.of()
    return None


def _operator(record: Record, rules: Rules,
              now: float) -> Reason | None:
    if record.metadata.get(PIN, 'no').strip().lower() not in _NO:
        return Code.PINNED.of(key=PIN)
    if record.project_id in rules.excluded_projects:
        return Code.PROJECT_EXCLUDED.of()
    why = rules.kind.why_not(rules.balance)
    if why is not None:
        return why
    until = rules.back_off_until.get(record.id, 0.0)
    if now < until:
        return Code.BACK_OFF.of(until=times.text(until))
    return None


def _cooling(record: Record, rules: Rules,
             now: float) -> Reason | None:
    """The last of the reasons: where it is told, no other one holds."""
    moved, cool_down_s = rules.moved_at.get(record.id), rules.cool_down_s
    if moved is None or cool_down_s is None:
        return None
    if rules.kind.cool_down_s is not None:
        cool_down_s = rules.kind.cool_down_s
    if now < moved + cool_down_s:
        return Code.COOL_DOWN.of(moved=times.text(moved),
                                 until=times.text(moved + cool_down_s))
    return None


def _in_use(record: Record, rules: Rules) -> Reason | None:
    if record.status != 'in-use' and not record.attachments:
        return None
    if rules.allow_attached is False:
        return Code.ATTACHED.of()
    if not record.attachments:
        return Code.NO_ATTACHMENT.of()
    if len(record.attachments) > 1:
        return Code.SHARED_BY_SERVERS.of(servers=len(record.attachments))
    if record.multiattach:
        return Code.MULTIATTACH_IN_USE.of()
    if '' in record.attachments:
        return Code.ATTACHED_TO_HOST.of()
    if rules.servers.absent is None:
        return not_copied(record.attachments, rules.servers)
    if rules.allow_attached is None:
        return Code.NO_NOVA.of(absent=rules.servers.absent)
    return None


def not_copied(server_ids: Iterable[str],
               known: Servers) -> Reason | None:
    """Why Nova would refuse to copy a volume, or None.

    :param server_ids: the servers that the volume is attached to
    """
    if known.problem is not None:
        return Code.NOVA_SILENT.of(problem=known.problem)
    return next(filter(None, (
        _why_not_copied(name, known) for name in server_ids)), None)


def _why_not_copied(server_id: str, known: Servers) -> Reason | None:
    server = known.by_id.get(server_id)
    if server is None:
        return Code.SERVER_UNKNOWN.of(server=server_id)
    shown = f'its server {server.name} ({server.id})'
    if server.vm_state is None:
        return Code.SERVER_UNCLEAR.of(unknown='state', server=shown)
    if server.vm_state not in COPIED:
        return Code.SERVER_STOPPED.of(server=shown, status=server.status)
    if server.task_state is not None:
        return Code.SERVER_BUSY.of(server=shown, task=server.task_state)
    if server.off is not None:
        return Code.SERVER_OFF.of(server=shown, status=server.status,
                                  power=server.off)
    if server.host is None:
        return Code.SERVER_UNCLEAR.of(unknown='host', server=shown)
    service = known.services.get(server.host)
    if service is None or not service.up:
        return Code.COMPUTE_DOWN.of(server=shown, host=server.host)
    return None
