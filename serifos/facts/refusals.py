# SPDX-License-Identifier: Apache-2.0
"""Reasons for refusing a move: code, sentence, kind and remedy.

A refusal says why a volume stays. Its sentence has names and figures in it,
and may be worded anew at any release. Its code stays, for programs. Its kind
is what all of a code have in common, by which they are counted, and its
remedy what an operator may change about it. The rules that refuse are in
:mod:`serifos.plan`; each makes its reason by :meth:`Code.of`.
"""

from __future__ import annotations

import enum
from typing import Any


class Reason(str):
    """A sentence that knows its code.

    :param code: None where it is not known, such as of another package; one
        of a later release is no :class:`Code`
    """

    __slots__ = ('code',)
    code: str | None

    def __new__(cls, text: str, code: str | None = None) -> Reason:
        found = super().__new__(cls, text)
        found.code = code
        return found

    def __deepcopy__(self, _: dict[int, Any]) -> Reason:
        return self

    @classmethod
    def read(cls, text: object, code: object) -> Any:
        """A text of a file with the code beside it; all else as it is."""
        return cls(text, code) if isinstance(text, str) and (
            isinstance(code, str)) else text


_IS_STATE = '{pool} is {state}'
_NO_SPACE = '{pool} has {room:.6g} GiB free{kept}, {needed:.6g} needed'
_WORSE = 'the {worse} of both pools would show {then} instead of {now}'
_BONDS = 'serifos:same_pool of volumes, [balancer] server_volumes'
_OTHER_VOLUME = ('what keeps that one, or serifos:same_pool, [balancer] '
                 'server_volumes')


class Code(enum.StrEnum):
    """The codes of refusals, as plans and observations write them.

    :param sentence: with the names of its figures in braces
    :param kind: a clause, without names and figures
    :param remedy: what would change it; empty where no option does
    """

    sentence: str
    kind: str
    remedy: str

    def __new__(cls, code: str, sentence: str, kind: str,
                remedy: str = '') -> Code:
        found = str.__new__(cls, code)
        found._value_ = code
        found.sentence, found.kind, found.remedy = sentence, kind, remedy
        return found

    def of(self, **figures: object) -> Reason:
        """The reason, with the figures that its sentence names."""
        return Reason(self.sentence.format(**figures), self)

    # What Cinder and the observation say of a volume.
    MIGRATING = (
        'migrating', 'a migration of it is {status}',
        'it is being migrated already',
        'wait, or serifos-balancer recover VOLUME')
    STATUS = (
        'status', 'its status is {status}',
        'it is neither available nor in use', 'its status in Cinder')
    SNAPSHOTS = (
        'snapshots', '{snapshots} it', 'snapshots hold it',
        'delete them: Cinder migrates no volume that has some')
    IN_GROUP = (
        'in_group', 'it is in a group', 'it is in a group',
        'take it out of its group')
    REPLICATED = (
        'replicated', 'its replication is {status}', 'it is replicated',
        'end its replication')
    ENCRYPTED_IN_USE = (
        'encrypted_in_use',
        'it is encrypted and in use: Nova does not copy such volumes',
        'it is encrypted and in use',
        'detach it: Nova copies no encrypted volume')
    ENCRYPTED_MIXED = (
        'encrypted_mixed',
        'it is encrypted, and pools of other drivers than LVM have the same '
        'volume_backend_name',
        'it is encrypted, and might come to a pool of another driver than '
        'LVM',
        'give pools of other drivers a volume_backend_name of their own')
    ENCRYPTED_NOT_LVM = (
        'encrypted_not_lvm',
        "it is encrypted, and its pool is not of Cinder's LVM driver",
        'it is encrypted, on no LVM pool')
    HALF_MADE_COPY = (
        'half_made_copy', 'a half-made copy of it was left',
        'a half-made copy of it was left', 'serifos-balancer recover VOLUME')
    TYPE_UNREADABLE = (
        'type_unreadable', 'its volume type cannot be read',
        'its volume type cannot be read', 'serifos-balancer observe says why')

    # What operators and tenants ask for.
    PINNED = (
        'pinned', 'its metadata says {key}', 'its metadata pins it',
        'remove serifos:pin from its metadata')
    TYPE_LEFT_OUT = (
        'type_left_out', 'its volume type {name} says {key} = false',
        'its volume type is left out of balancing',
        'serifos:balance of its volume type')
    TYPE_NOT_OPTED_IN = (
        'type_not_opted_in', 'its volume type does not say {key} = true',
        'its volume type is not opted in',
        'serifos:balance of its volume type, [balancer] balance')
    TYPE_FAULT = (
        'type_fault', 'of its volume type {name}, {fault}',
        'a setting of its volume type cannot be used',
        'the extra specs of its volume type')
    POOL_LEFT_OUT = (
        'pool_left_out',
        '{pool} is left out of balancing by its serifos_balance',
        'a pool is left out of balancing', 'serifos_balance of its backend')
    PROJECT_EXCLUDED = (
        'project_excluded', 'its project is excluded',
        'its project is excluded', '[balancer] excluded_projects')
    BACK_OFF = (
        'back_off',
        'a migration of it failed or was refused; left alone until {until}',
        'a migration of it failed or was refused', '[balancer] back_off')
    COOL_DOWN = (
        'cool_down', 'moved at {moved}; cools down until {until}',
        'it was moved a short time ago', '[balancer] cool_down')
    TOO_LARGE = (
        'too_large',
        'its {gib:g} GiB{shared} are more than [balancer] {option}, {most:g}',
        'it is larger than may be moved in an hour or a day',
        '[balancer] max_gib_per_hour, max_gib_per_day')

    # Affinity rules: what it is to be with, or without.
    CONTRADICTION = (
        'contradiction',
        'it is to share a pool with volumes that are to be kept apart, such '
        'as {volume}',
        'what is asked for it contradicts itself',
        'serifos:same_pool, serifos:different_pool of volumes')
    COMPANION_STAYS = (
        'companion_stays',
        'it is to share a pool with volume {volume}, {why}',
        'a volume that it shares a pool with may not go', _OTHER_VOLUME)
    COMPANIONS_ELSEWHERE = (
        'companions_elsewhere',
        'it is to share a pool with volume {volume}, on {pool}',
        'it may only go where those are that it is to share a pool with',
        _BONDS)
    COMPANION_LEFT = (
        'companion_left',
        'volume {volume}, with which it shares a pool, does not come with it',
        'a volume that it shares a pool with does not come with it',
        _OTHER_VOLUME)
    KEPT_APART = (
        'kept_apart',
        'it is to be kept apart from volume {volume}, on {pool}',
        'the best pool for it has a volume that it is kept apart from',
        'serifos:different_pool of volumes, [balancer] server_volumes')

    # Volumes in use.
    ATTACHED = (
        'attached', 'attached', 'it is attached, and those are to stay',
        '[balancer] allow_attached')
    NO_NOVA = (
        'no_nova', 'attached, and there is no Nova to ask: {absent}',
        'it is attached, and there is no Nova to ask',
        'auth_type in [nova], or [balancer] allow_attached = true')
    NOVA_SILENT = (
        'nova_silent', 'attached, and Nova could not be asked: {problem}',
        'it is attached, and Nova does not answer', '[nova]')
    NO_ATTACHMENT = (
        'no_attachment',
        'it is in use and has no attachment: its server is not known',
        'it is in use without attachment', 'its attachments in Cinder')
    SHARED_BY_SERVERS = (
        'shared_by_servers', '{servers} servers share it',
        'several servers share it')
    MULTIATTACH_IN_USE = (
        'multiattach_in_use',
        'it is multi-attach and in use: what a second server writes during '
        'the copy would be lost',
        'it is multi-attach and in use',
        'detach it: a server that attaches it meanwhile writes to the copy '
        'that goes')
    ATTACHED_TO_HOST = (
        'attached_to_host',
        'it is attached to a host itself, not to a server',
        'it is attached to a host itself')
    SERVER_UNKNOWN = (
        'server_unknown',
        'Nova does not list its server {server}; it was deleted, or its cell '
        'does not answer. Where openstack server show {server} finds none '
        'either, delete the attachment that is left of it, whose id is in '
        'openstack volume show: openstack --os-volume-api-version 3.27 '
        'volume attachment delete ATTACHMENT',
        'Nova does not list its server',
        'delete the attachment that is left')
    SERVER_UNCLEAR = (
        'server_unclear',
        'Nova does not know the {unknown} of {server}: its cell may be down',
        "Nova does not know its server's state or host", "Nova's cells")
    SERVER_STOPPED = (
        'server_stopped',
        '{server} is {status}; Nova copies volumes of servers that are '
        'ACTIVE, PAUSED or resized',
        'its server is stopped, and Nova copies no volume of such',
        'start the server, or detach the volume')
    SERVER_BUSY = (
        'server_busy', '{server} has a task under way: {task}',
        'its server has a task under way', 'wait')
    SERVER_OFF = (
        'server_off',
        '{server} is {status} and does not run: its power state is {power}',
        'its server does not run', 'start the server')
    COMPUTE_DOWN = (
        'compute_down', 'the nova-compute of {server}, on {host}, is down',
        'the nova-compute of its server is down', 'start nova-compute')

    # What is not known.
    NO_TELEMETRY = (
        'no_telemetry', 'no telemetry', 'nothing is known of its activity',
        '[telemetry] endpoints')
    POOL_UNLISTED = (
        'pool_unlisted', 'the cluster has no pool {pool}',
        'its pool is not listed by Cinder', 'its cinder-volume service')
    NO_MODEL = (
        'no_model', '{pool} has no model', 'its pool has no model',
        'serifos_model of the backend, serifos-model build or learn')
    NO_OTHER_MODEL = (
        'no_other_model',
        'no other device has a pool that is up and has a model',
        'no other pool is up and has a model',
        'serifos-model build for other pools, or their cinder-volume '
        'services')
    NO_OTHER_POOL = (
        'no_other_pool',
        'no other pool is up, fits its model, is in its zone, and has its '
        'backend and type',
        'no other pool may take it',
        'a pool in its zone, of its backend and type, without what it is '
        'kept apart from')

    # What became of it since the plan that is undone.
    WHERE_IT_WAS = (
        'where_it_was', 'it is on {pool}, where it came from',
        'it is where it came from')
    MOVED_ON = (
        'moved_on', 'it was moved on since, to {pool}',
        'it was moved on since')
    UNDER_WAY = (
        'under_way', 'its migration is under way still',
        'its migration is under way', 'undo once it has ended')
    POOL_GONE = (
        'pool_gone', 'there is no pool {pool}',
        'its former pool is no longer there')
    VOLUME_GONE = (
        'volume_gone', 'it is no longer there', 'it is no longer there')

    # The pools that it could go to.
    DRIFTS = (
        'drifts', '{pool} drifts: {drifting}',
        'the best pool for it drifts from its model',
        'serifos-model build for that pool')
    UNEXPLAINED = (
        'unexplained', '{pool} does not fit its model: {unexplained}',
        'the best pool for it does not fit its model',
        'serifos-model build or learn for that pool, or --trust-models')
    OTHER_ZONE = (
        'other_zone', '{pool} is in another zone, {zone}',
        'the best pool for it is in another zone')
    OTHER_BACKEND = (
        'other_backend',
        '{pool} is of backend {backend}, the volume requires {required}',
        'the best pool for it is of another backend',
        'volume_backend_name of its type')
    TYPE_UNMET = (
        'type_unmet',
        '{pool} does not offer what the extra specs of {type} ask for',
        'the best pool for it does not meet its type',
        'extra specs of its type')
    POOL_MAX_FILL = (
        'pool_max_fill', _NO_SPACE, 'the best pool for it has no space',
        'serifos_max_fill of its backend, or free space there')
    MAX_FILL = (
        'max_fill', _NO_SPACE, 'the best pool for it has no space',
        '[balancer] max_fill, or free space there')
    KEPT_FOR_GROWTH = (
        'kept_for_growth', _NO_SPACE, 'the best pool for it has no space',
        '[balancer] capacity_horizon, or free space there')
    NO_SPACE_YET = (
        'no_space_yet', '{full}, until moves of this plan free more',
        'the best pool for it has no space yet',
        'plan again after this plan')
    NO_SPACE = (
        'no_space', _NO_SPACE, 'the best pool for it has no space',
        'free space there')
    SPACE_UNKNOWN = (
        'space_unknown', 'the free space of {pool} is not known: {why}',
        'the free space of the best pool for it is not known',
        'serifos-balancer observe says why')
    POOL_UNSEEN = (
        'pool_unseen', _IS_STATE, 'a pool has no fresh telemetry',
        'its exporter, [telemetry]')
    POOL_TOUCHED = (
        'pool_touched', _IS_STATE, 'a stuck migration touches a pool',
        'serifos-balancer recover VOLUME')
    POOL_DISABLED = (
        'pool_disabled', _IS_STATE, 'the service of a pool is disabled',
        'openstack volume service set --enable')
    POOL_FROZEN = (
        'pool_frozen', _IS_STATE, 'the service of a pool is frozen',
        'cinder thaw-host')
    POOL_DOWN = (
        'pool_down', _IS_STATE, 'a pool is down', 'its cinder-volume service')

    # What a move would bring.
    SLOWER = (
        'slower', _WORSE,
        'each other pool would be slower with it than its own is now')
    BUSIER = (
        'busier', _WORSE,
        'each other pool would be busier with it than its own is now')
    NO_GAIN = (
        'no_gain', 'a move would gain nothing',
        'its move would gain nothing')
    MIN_GAIN = (
        'min_gain', 'gain {gain:.3g} % is below min_gain {least:.3g} %',
        'its gain is below min_gain', '--min-gain, [balancer] min_gain')
    TYPE_MIN_GAIN = (
        'type_min_gain',
        'gain {gain:.3g} % is below serifos:min_gain {least:.3g} %',
        'its move gains less than its volume type asks for',
        'serifos:min_gain of its volume type')
    SHIFTS_SLOS = (
        'shifts_slos',
        'its pool is not hot, and SLOs would be exceeded by more or nearly '
        'as much on {pool}',
        'its move would only shift violated SLOs',
        'serifos:max_latency_us of the types')
    NOT_HOT = (
        'not_hot', 'its pool is not hot', 'its pool is not hot',
        '--hot-ratio, [balancer] hot_ratio, serifos_hot_ratio of its '
        'backend')
    VIOLATES_SLO = (
        'violates_slo',
        'on {pool} {whose} would see more than the {slo:.6g} µs of its SLO',
        'its move would violate an SLO',
        'serifos:max_latency_us of the type')
    COPY_COSTS = (
        'copy_costs',
        'copying it takes {copy}{wiped}, in which the tenants of both pools '
        'see {harm:.3g} % more in the mean; that outweighs {gain:.3g} % less '
        'for those of its source over {horizon}',
        'copying it costs tenants more than it brings',
        '[balancer] horizon')
    MAX_MOVES = (
        'max_moves', 'max_moves {most} is reached',
        'the move limit is reached',
        '--max-moves, or plan again after this plan')
    MAX_GIB = (
        'max_gib',
        'its {gib:.6g} GiB are more than max_gib_per_plan {most:.6g} leaves',
        'it is larger than what the plan may still copy',
        '--max-gib-per-plan, [balancer] max_gib_per_plan, or plan again '
        'after this plan')
    OTHERS_FIRST = (
        'others_first', 'other moves go first', 'other moves go first',
        'plan again after this plan')


_CODES = {each.value: each for each in Code}


def code(reason: object) -> str | None:
    """The code of a reason, None where it says none."""
    return reason.code if isinstance(reason, Reason) else None


def kind(reason: str) -> str:
    """The kind of a reason by its code; itself where unknown."""
    known = _CODES.get(code(reason) or '')
    return str(reason) if known is None else known.kind


def remedy(reason: str) -> str:
    """The remedy of a reason by its code; empty where there is none."""
    known = _CODES.get(code(reason) or '')
    return '' if known is None else known.remedy
