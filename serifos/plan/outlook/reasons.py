# SPDX-License-Identifier: Apache-2.0
"""Reasons for which volumes stay, as kinds that can be counted.

A reason is a text with names and figures in it, written by Cinder's observer
(``movable``) or by a planner, and has a code. A kind is what many of them have
in common, with what an operator may change about it.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses

from serifos.facts.reason import code
from serifos.facts.reason import Code


@dataclasses.dataclass(frozen=True, slots=True)
class Kind:
    """What reasons have in common.

    :param text: a clause, without names and figures
    :param mend: what would change it; empty where no option does
    """

    text: str
    mend: str = ''


KINDS: Mapping[str, Kind] = {
    # What Cinder and the observation say of a volume.
    Code.MIGRATING: Kind(
        'it is being migrated already',
        'wait, or serifos-balancer recover VOLUME'),
    Code.STATUS: Kind(
        'it is neither available nor in use',
        'its status in Cinder'),
    Code.SNAPSHOTS: Kind(
        'snapshots hold it',
        'delete them: Cinder migrates no volume that has some'),
    Code.IN_GROUP: Kind('it is in a group', 'take it out of its group'),
    Code.REPLICATED: Kind('it is replicated', 'end its replication'),
    Code.ENCRYPTED_IN_USE: Kind(
        'it is encrypted and in use',
        'detach it: Nova copies no encrypted volume'),
    Code.ENCRYPTED_MIXED: Kind(
        'it is encrypted, and might come to a pool of another driver than '
        'LVM',
        'give pools of other drivers a volume_backend_name of their own'),
    Code.ENCRYPTED_NOT_LVM: Kind('it is encrypted, on no LVM pool'),
    Code.HALF_MADE_COPY: Kind(
        'a half-made copy of it was left',
        'serifos-balancer recover VOLUME'),
    Code.TYPE_UNREADABLE: Kind(
        'its volume type cannot be read',
        'serifos-balancer observe says why'),
    # What operators and tenants say of it.
    Code.PINNED: Kind(
        'its metadata pins it',
        'remove serifos:pin from its metadata'),
    Code.TYPE_LEFT_OUT: Kind(
        'its volume type is left out of balancing',
        'serifos:balance of its volume type'),
    Code.TYPE_NOT_OPTED_IN: Kind(
        'its volume type is not opted in',
        'serifos:balance of its volume type, [balancer] balance'),
    Code.TYPE_FAULT: Kind(
        'a setting of its volume type cannot be used',
        'the extra specs of its volume type'),
    Code.POOL_LEFT_OUT: Kind(
        'a pool is left out of balancing',
        'serifos_balance of its backend'),
    Code.PROJECT_EXCLUDED: Kind(
        'its project is excluded',
        '[balancer] excluded_projects'),
    Code.BACK_OFF: Kind(
        'a migration of it failed or was refused',
        '[balancer] back_off'),
    Code.COOL_DOWN: Kind(
        'it was moved a short time ago',
        '[balancer] cool_down'),
    Code.TOO_LARGE: Kind(
        'it is larger than may be moved in an hour or a day',
        '[balancer] max_gib_per_hour, max_gib_per_day'),
    # What it is to be with, or without.
    Code.CONTRADICTION: Kind(
        'what is asked for it contradicts itself',
        'serifos:same_pool, serifos:different_pool of volumes'),
    Code.COMPANION_STAYS: Kind(
        'a volume that it shares a pool with may not go',
        'what keeps that one, or serifos:same_pool, [balancer] '
        'server_volumes'),
    Code.COMPANIONS_ELSEWHERE: Kind(
        'it may only go where those are that it is to share a pool with',
        'serifos:same_pool of volumes, [balancer] server_volumes'),
    Code.COMPANION_LEFT: Kind(
        'a volume that it shares a pool with does not come with it',
        'what keeps that one, or serifos:same_pool, [balancer] '
        'server_volumes'),
    Code.KEPT_APART: Kind(
        'the best pool for it has a volume that it is kept apart from',
        'serifos:different_pool of volumes, [balancer] server_volumes'),
    # Volumes in use.
    Code.ATTACHED: Kind(
        'it is attached, and those are to stay',
        '[balancer] allow_attached'),
    Code.NO_NOVA: Kind(
        'it is attached, and there is no Nova to ask',
        'auth_type in [nova], or [balancer] allow_attached = true'),
    Code.NOVA_SILENT: Kind(
        'it is attached, and Nova does not answer',
        '[nova]'),
    Code.NO_ATTACHMENT: Kind(
        'it is in use without attachment',
        'its attachments in Cinder'),
    Code.SHARED_BY_SERVERS: Kind('several servers share it'),
    Code.MULTIATTACH_IN_USE: Kind(
        'it is multi-attach and in use',
        'detach it: a server that attaches it meanwhile writes to the copy '
        'that goes'),
    Code.ATTACHED_TO_HOST: Kind('it is attached to a host itself'),
    Code.SERVER_UNKNOWN: Kind(
        'Nova does not list its server',
        'delete the attachment that is left'),
    Code.SERVER_UNCLEAR: Kind(
        "Nova does not know its server's state or host",
        "Nova's cells"),
    Code.SERVER_STOPPED: Kind(
        'its server is stopped, and Nova copies no volume of such',
        'start the server, or detach the volume'),
    Code.SERVER_BUSY: Kind('its server has a task under way', 'wait'),
    Code.SERVER_OFF: Kind('its server does not run', 'start the server'),
    Code.COMPUTE_DOWN: Kind(
        'the nova-compute of its server is down',
        'start nova-compute'),
    # What is not known.
    Code.NO_TELEMETRY: Kind(
        'nothing is known of its activity',
        '[telemetry] endpoints'),
    Code.POOL_UNLISTED: Kind(
        'its pool is not listed by Cinder',
        'its cinder-volume service'),
    Code.NO_MODEL: Kind(
        'its pool has no model',
        'serifos-model build, serifos_model of the backend'),
    Code.NO_OTHER_MODEL: Kind(
        'no other pool is up and has a model',
        'serifos-model build for other pools, or their cinder-volume '
        'services'),
    Code.NO_OTHER_POOL: Kind(
        'no other pool may take it',
        'a pool in its zone, of its backend and type, without what it is '
        'kept apart from'),
    # What became of it since the plan that is undone.
    Code.WHERE_IT_WAS: Kind('it is where it came from'),
    Code.MOVED_ON: Kind('it was moved on since'),
    Code.UNDER_WAY: Kind(
        'its migration is under way',
        'undo once it has ended'),
    Code.POOL_GONE: Kind('its former pool is no longer there'),
    Code.VOLUME_GONE: Kind('it is no longer there'),
    # The pools that it could go to.
    Code.DRIFTS: Kind(
        'the best pool for it drifts from its model',
        'serifos-model build for that pool'),
    Code.UNEXPLAINED: Kind(
        'the best pool for it does not fit its model',
        'serifos-model build or refine for that pool, or --trust-models'),
    Code.OTHER_ZONE: Kind('the best pool for it is in another zone'),
    Code.OTHER_BACKEND: Kind(
        'the best pool for it is of another backend',
        'volume_backend_name of its type'),
    Code.TYPE_UNMET: Kind(
        'the best pool for it does not meet its type',
        'extra specs of its type'),
    Code.POOL_MAX_FILL: Kind(
        'the best pool for it has no space',
        'serifos_max_fill of its backend, or free space there'),
    Code.MAX_FILL: Kind(
        'the best pool for it has no space',
        '[balancer] max_fill, or free space there'),
    Code.KEPT_FOR_GROWTH: Kind(
        'the best pool for it has no space',
        '[balancer] capacity_horizon, or free space there'),
    Code.NO_SPACE_YET: Kind(
        'the best pool for it has no space yet',
        'plan again after this plan'),
    Code.NO_SPACE: Kind(
        'the best pool for it has no space',
        'free space there'),
    Code.SPACE_UNKNOWN: Kind(
        'the free space of the best pool for it is not known',
        'serifos-balancer observe says why'),
    Code.POOL_UNSEEN: Kind(
        'a pool has no fresh telemetry',
        'its exporter, [telemetry]'),
    Code.POOL_TOUCHED: Kind(
        'a stuck migration touches a pool',
        'serifos-balancer recover VOLUME'),
    Code.POOL_DISABLED: Kind(
        'the service of a pool is disabled',
        'openstack volume service set --enable'),
    Code.POOL_FROZEN: Kind(
        'the service of a pool is frozen',
        'cinder thaw-host'),
    Code.POOL_DOWN: Kind('a pool is down', 'its cinder-volume service'),
    # What a move would bring.
    Code.SLOWER: Kind(
        'each other pool would be slower with it than its own is now'),
    Code.BUSIER: Kind(
        'each other pool would be busier with it than its own is now'),
    Code.NO_GAIN: Kind('its move would gain nothing'),
    Code.MIN_GAIN: Kind(
        'its gain is below min_gain',
        '--min-gain, [balancer] min_gain'),
    Code.TYPE_MIN_GAIN: Kind(
        'its move gains less than its volume type asks for',
        'serifos:min_gain of its volume type'),
    Code.SHIFTS_SLOS: Kind(
        'its move would only shift violated SLOs',
        'serifos:max_latency_us of the types'),
    Code.NOT_HOT: Kind(
        'its pool is not hot',
        '--hot-ratio, [balancer] hot_ratio, serifos_hot_ratio of its '
        'backend'),
    Code.VIOLATES_SLO: Kind(
        'its move would violate an SLO',
        'serifos:max_latency_us of the type'),
    Code.COPY_COSTS: Kind(
        'copying it costs tenants more than it brings',
        '[balancer] horizon'),
    Code.MAX_MOVES: Kind(
        'the move limit is reached',
        '--max-moves, or plan again after this plan'),
    Code.MAX_GIB: Kind(
        'it is larger than what the plan may still copy',
        '--max-gib-per-plan, [balancer] max_gib_per_plan, or plan again '
        'after this plan'),
    Code.OTHERS_FIRST: Kind(
        'other moves go first',
        'plan again after this plan'),
}
"""Code → what those reasons have in common."""


def kind(reason: str) -> Kind:
    """The kind of a reason; a kind of its own for one that is not known."""
    return KINDS.get(code(reason) or '', Kind(reason))
