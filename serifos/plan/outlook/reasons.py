# SPDX-License-Identifier: Apache-2.0
"""Reasons for which volumes stay, as kinds that can be counted.

A reason is a text with names and figures in it, written by Cinder's observer
(``movable``) or by a planner. A kind is what many of them have in common, with
what an operator may change about it.
"""

from __future__ import annotations

import dataclasses
import functools
import re


@dataclasses.dataclass(frozen=True, slots=True)
class Kind:
    """What reasons have in common.

    :param text: a clause, without names and figures
    :param mend: what would change it; empty where no option does
    """

    text: str
    mend: str = ''


_KINDS: tuple[tuple[str, str, str], ...] = (
    # What Cinder and the observation say of a volume.
    ('a migration of it is ', 'it is being migrated already',
     'wait, or serifos-balancer recover VOLUME'),
    ('its status is ', 'it is neither available nor in use',
     'its status in Cinder'),
    (r'(a snapshot holds|\d+ snapshots hold) it', 'snapshots hold it',
     'delete them: Cinder migrates no volume that has some'),
    ('it is in a group', 'it is in a group', 'take it out of its group'),
    ('its replication is ', 'it is replicated', 'end its replication'),
    ('it is encrypted and in use', 'it is encrypted and in use',
     'detach it: Nova copies no encrypted volume'),
    ('it is encrypted, and pools of other drivers', 'it is encrypted, and '
     'might come to a pool of another driver than LVM',
     'give pools of other drivers a volume_backend_name of their own'),
    ('it is encrypted, and its pool', 'it is encrypted, on no LVM pool', ''),
    ('a half-made copy of it was left', 'a half-made copy of it was left',
     'serifos-balancer recover VOLUME'),
    ('its volume type cannot be read', 'its volume type cannot be read',
     'serifos-balancer observe says why'),
    # What operators and tenants say of it.
    ('its metadata says ', 'its metadata pins it',
     'remove serifos:pin from its metadata'),
    ('its volume type .* says serifos:balance',
     'its volume type is left out of balancing',
     'serifos:balance of its volume type'),
    ('its volume type does not say serifos:balance',
     'its volume type is not opted in', 'serifos:balance of its volume type, '
     '[balancer] balance'),
    ('of its volume type .*, serifos:',
     'a setting of its volume type cannot be used',
     'the extra specs of its volume type'),
    ('.* is left out of balancing by its serifos_balance',
     'a pool is left out of balancing', 'serifos_balance of its backend'),
    ('its project is excluded', 'its project is excluded',
     '[balancer] excluded_projects'),
    ('.*; left alone until ', 'a migration of it failed or was refused',
     '[balancer] back_off'),
    ('moved at .*; cools down until ', 'it was moved a short time ago',
     '[balancer] cool_down'),
    (r'its \S+ GiB( with .*)? are more than \[balancer\] ',
     'it is larger than may be moved in an hour or a day',
     '[balancer] max_gib_per_hour, max_gib_per_day'),
    # What it is to be with, or without.
    ('it is to share a pool with volumes that are to be kept apart',
     'what is asked for it contradicts itself',
     'serifos:same_pool, serifos:different_pool of volumes'),
    (r'it is to share a pool with volume \S+, (which stays|and)',
     'a volume that it shares a pool with may not go',
     'what keeps that one, or serifos:same_pool, [balancer] server_volumes'),
    ('it is to share a pool with volume ',
     'it may only go where those are that it is to share a pool with',
     'serifos:same_pool of volumes, [balancer] server_volumes'),
    ('volume .*, with which it shares a pool, does not come with it',
     'a volume that it shares a pool with does not come with it',
     'what keeps that one, or serifos:same_pool, [balancer] server_volumes'),
    ('it is to be kept apart from volume ',
     'the best pool for it has a volume that it is kept apart from',
     'serifos:different_pool of volumes, [balancer] server_volumes'),
    # Volumes in use.
    ('attached$', 'it is attached, and those are to stay',
     '[balancer] allow_attached'),
    ('attached, and there is no Nova to ask',
     'it is attached, and there is no Nova to ask',
     'auth_type in [nova], or [balancer] allow_attached = true'),
    ('attached, and Nova could not be asked',
     'it is attached, and Nova does not answer', '[nova]'),
    ('it is in use and has no attachment', 'it is in use without attachment',
     'its attachments in Cinder'),
    (r'\d+ servers share it', 'several servers share it', ''),
    ('it is attached to a host itself', 'it is attached to a host itself',
     ''),
    ('Nova does not list its server', 'Nova does not list its server',
     'delete the attachment that is left'),
    ('Nova does not (know the state of|say on which host)',
     'Nova does not know its server\'s state or host', 'Nova\'s cells'),
    (r'its server .*; Nova copies volumes of',
     'its server is stopped, and Nova copies no volume of such',
     'start the server, or detach the volume'),
    ('its server .* has a task under way', 'its server has a task under way',
     'wait'),
    ('its server .* does not run', 'its server does not run',
     'start the server'),
    ('the nova-compute of ', 'the nova-compute of its server is down',
     'start nova-compute'),
    # What is not known.
    ('no telemetry', 'nothing is known of its activity',
     '[telemetry] endpoints'),
    ('the cluster has no pool ', 'its pool is not listed by Cinder',
     'its cinder-volume service'),
    ('.* has no model$', 'its pool has no model',
     'serifos-model build, serifos_model of the backend'),
    ('no other device has a pool with a model',
     'no other pool has a model', 'serifos-model build for other pools'),
    ('no other pool is up', 'no other pool may take it',
     'a pool in its zone, of its backend and type'),
    # What became of it since the plan that is undone.
    ('it is on .*, where it came from', 'it is where it came from', ''),
    ('it was moved on since', 'it was moved on since', ''),
    ('its migration is under way', 'its migration is under way',
     'undo once it has ended'),
    ('there is no pool ', 'its former pool is no longer there', ''),
    # The pools that it could go to.
    ('.* drifts: ', 'the best pool for it drifts from its model',
     'serifos-model build for that pool'),
    ('.* is in another zone', 'the best pool for it is in another zone', ''),
    ('.* is of backend .*, the volume requires ',
     'the best pool for it is of another backend',
     'volume_backend_name of its type'),
    ('.* does not offer what the extra specs of ',
     'the best pool for it does not meet its type',
     'extra specs of its type'),
    ('.* GiB free below serifos_max_fill', 'the best pool for it has no '
     'space', 'serifos_max_fill of its backend, or free space there'),
    ('.* GiB free below max_fill', 'the best pool for it has no space',
     '[balancer] max_fill, or free space there'),
    ('.* GiB kept for its growth', 'the best pool for it has no space',
     '[balancer] capacity_horizon, or free space there'),
    ('.* GiB free.*until moves of this plan free more',
     'the best pool for it has no space yet',
     'plan again after this plan'),
    (r'.* has \S+ GiB free', 'the best pool for it has no space',
     'free space there'),
    ('.* is without fresh telemetry$', 'a pool has no fresh telemetry',
     'its exporter, [telemetry]'),
    ('.* is touched by a stuck migration$',
     'a stuck migration touches a pool', 'serifos-balancer recover VOLUME'),
    ('.* is disabled$', 'the service of a pool is disabled',
     'openstack volume service set --enable'),
    ('.* is frozen$', 'the service of a pool is frozen',
     'cinder thaw-host'),
    ('.* is (down|not known to the scheduler|without a service)$',
     'a pool is down', 'its cinder-volume service'),
    # What a move would bring.
    ('the slower of both pools would show', 'each other pool would be '
     'slower with it than its own is now', ''),
    ('the busier of both pools would show', 'each other pool would be '
     'busier with it than its own is now', ''),
    ('a move would gain nothing', 'its move would gain nothing', ''),
    (r'gain \S+ % is below min_gain', 'its move gains too little',
     '--min-gain, [balancer] min_gain'),
    ('its pool is not hot, and promises', 'its move would only shift broken '
     'promises', 'serifos:max_latency_us of the types'),
    ('its pool is not hot', 'its pool is not hot',
     '--hot-ratio, [balancer] hot_ratio'),
    (r'on .* would see more than the .* promises',
     'its move would break a promise', 'serifos:max_latency_us of the type'),
    ('copying it takes ', 'copying it costs tenants more than it brings',
     '[balancer] horizon'),
    ('max_moves ', 'the plan has its most moves',
     '--max-moves, or plan again after this plan'),
    ('other moves go first', 'other moves go first',
     'plan again after this plan'),
)
"""How reasons begin, as regular expressions, the first that fits counts."""


@functools.cache
def _patterns() -> tuple[tuple[re.Pattern[str], Kind], ...]:
    return tuple((re.compile(begins, re.S), Kind(text, mend))
                 for begins, text, mend in _KINDS)


@functools.lru_cache(maxsize=4096)
def kind(reason: str) -> Kind:
    """The kind of a reason; a kind of its own for one that is not known."""
    return next((found for pattern, found in _patterns()
                 if pattern.match(reason)), Kind(reason))
