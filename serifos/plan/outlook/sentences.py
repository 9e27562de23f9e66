# SPDX-License-Identifier: Apache-2.0
"""The codes of reasons that do not say theirs, by how they are worded.

Observations and plans of earlier releases have sentences alone.
"""

from __future__ import annotations

import functools
import re

from serifos.facts.reason import Code

_BEGINS: tuple[tuple[str, Code], ...] = (
    ('a migration of it is ', Code.MIGRATING),
    ('its status is ', Code.STATUS),
    (r'(a snapshot holds|\d+ snapshots hold) it', Code.SNAPSHOTS),
    ('it is in a group', Code.IN_GROUP),
    ('its replication is ', Code.REPLICATED),
    ('it is encrypted and in use', Code.ENCRYPTED_IN_USE),
    ('it is encrypted, and pools of other drivers', Code.ENCRYPTED_MIXED),
    ('it is encrypted, and its pool', Code.ENCRYPTED_NOT_LVM),
    ('a half-made copy of it was left', Code.HALF_MADE_COPY),
    ('its volume type cannot be read', Code.TYPE_UNREADABLE),
    ('its metadata says ', Code.PINNED),
    ('its volume type .* says serifos:balance', Code.TYPE_LEFT_OUT),
    ('its volume type does not say serifos:balance', Code.TYPE_NOT_OPTED_IN),
    ('of its volume type .*, serifos:', Code.TYPE_FAULT),
    ('.* is left out of balancing by its serifos_balance', Code.POOL_LEFT_OUT),
    ('its project is excluded', Code.PROJECT_EXCLUDED),
    ('.*; left alone until ', Code.BACK_OFF),
    ('moved at .*; cools down until ', Code.COOL_DOWN),
    (r'its \S+ GiB( with .*)? are more than \[balancer\] ', Code.TOO_LARGE),
    ('it is to share a pool with volumes that are to be kept apart',
     Code.CONTRADICTION),
    (r'it is to share a pool with volume \S+, (which stays|and)',
     Code.COMPANION_STAYS),
    ('it is to share a pool with volume ', Code.COMPANIONS_ELSEWHERE),
    ('volume .*, with which it shares a pool, does not come with it',
     Code.COMPANION_LEFT),
    ('it is to be kept apart from volume ', Code.KEPT_APART),
    ('attached$', Code.ATTACHED),
    ('attached, and there is no Nova to ask', Code.NO_NOVA),
    ('attached, and Nova could not be asked', Code.NOVA_SILENT),
    ('it is in use and has no attachment', Code.NO_ATTACHMENT),
    (r'\d+ servers share it', Code.SHARED_BY_SERVERS),
    ('it is multi-attach and in use', Code.MULTIATTACH_IN_USE),
    ('it is attached to a host itself', Code.ATTACHED_TO_HOST),
    ('Nova does not list its server', Code.SERVER_UNKNOWN),
    ('Nova does not (know the state of|say on which host)',
     Code.SERVER_UNCLEAR),
    ('its server .*; Nova copies volumes of', Code.SERVER_STOPPED),
    ('its server .* has a task under way', Code.SERVER_BUSY),
    ('its server .* does not run', Code.SERVER_OFF),
    ('the nova-compute of ', Code.COMPUTE_DOWN),
    ('no telemetry', Code.NO_TELEMETRY),
    ('the cluster has no pool ', Code.POOL_UNLISTED),
    ('.* has no model$', Code.NO_MODEL),
    ('no other device has a pool (with|that is up and has) a model',
     Code.NO_OTHER_MODEL),
    ('no other pool is up', Code.NO_OTHER_POOL),
    ('it is on .*, where it came from', Code.WHERE_IT_WAS),
    ('it was moved on since', Code.MOVED_ON),
    ('its migration is under way', Code.UNDER_WAY),
    ('there is no pool ', Code.POOL_GONE),
    ('it is no longer there', Code.VOLUME_GONE),
    ('.* drifts: ', Code.DRIFTS),
    ('.* does not fit its model: ', Code.UNEXPLAINED),
    ('.* is in another zone', Code.OTHER_ZONE),
    ('.* is of backend .*, the volume requires ', Code.OTHER_BACKEND),
    ('.* does not offer what the extra specs of ', Code.TYPE_UNMET),
    ('.* GiB free below serifos_max_fill', Code.POOL_MAX_FILL),
    ('.* GiB free below max_fill', Code.MAX_FILL),
    ('.* GiB kept for its growth', Code.KEPT_FOR_GROWTH),
    ('.* GiB free.*until moves of this plan free more', Code.NO_SPACE_YET),
    (r'.* has \S+ GiB free', Code.NO_SPACE),
    ('the free space of .* is not known', Code.SPACE_UNKNOWN),
    ('.* is without fresh telemetry$', Code.POOL_UNSEEN),
    ('.* is touched by a stuck migration$', Code.POOL_TOUCHED),
    ('.* is disabled$', Code.POOL_DISABLED),
    ('.* is frozen$', Code.POOL_FROZEN),
    ('.* is (down|not known to the scheduler|without a service)$',
     Code.POOL_DOWN),
    ('the slower of both pools would show', Code.SLOWER),
    ('the busier of both pools would show', Code.BUSIER),
    ('a move would gain nothing', Code.NO_GAIN),
    (r'gain \S+ % is below min_gain', Code.MIN_GAIN),
    (r'gain \S+ % is below serifos:min_gain', Code.TYPE_MIN_GAIN),
    ('its pool is not hot, and promises', Code.SHIFTS_PROMISES),
    ('its pool is not hot', Code.NOT_HOT),
    ('on .* would see more than the .* promises', Code.BREAKS_PROMISE),
    ('copying it takes ', Code.COPY_COSTS),
    ('max_moves ', Code.MAX_MOVES),
    (r'its \S+ GiB are more than max_gib_per_plan ', Code.MAX_GIB),
    ('other moves go first', Code.OTHERS_FIRST),
)
"""How reasons begin, as regular expressions, the first that fits counts."""


@functools.cache
def _patterns() -> tuple[tuple[re.Pattern[str], Code], ...]:
    return tuple((re.compile(begins, re.S), code) for begins, code in _BEGINS)


@functools.lru_cache(maxsize=4096)
def code(sentence: str) -> Code | None:
    """The code of a sentence, None for one that nobody is known to say."""
    return next((found for pattern, found in _patterns()
                 if pattern.match(sentence)), None)
