# SPDX-License-Identifier: Apache-2.0
"""Reasons of refusals and moves: a sentence, and a code for programs.

The sentence has names and figures in it, and may be worded anew at any
release. The code says of which kind it is, and stays.
"""

from __future__ import annotations

import enum
from typing import Any


class Code(enum.StrEnum):
    """The kinds of reasons, as plans and observations write them."""

    MIGRATING = 'migrating'
    STATUS = 'status'
    SNAPSHOTS = 'snapshots'
    IN_GROUP = 'in_group'
    REPLICATED = 'replicated'
    ENCRYPTED_IN_USE = 'encrypted_in_use'
    ENCRYPTED_MIXED = 'encrypted_mixed'
    ENCRYPTED_NOT_LVM = 'encrypted_not_lvm'
    HALF_MADE_COPY = 'half_made_copy'
    TYPE_UNREADABLE = 'type_unreadable'
    PINNED = 'pinned'
    TYPE_LEFT_OUT = 'type_left_out'
    TYPE_NOT_OPTED_IN = 'type_not_opted_in'
    TYPE_FAULT = 'type_fault'
    POOL_LEFT_OUT = 'pool_left_out'
    PROJECT_EXCLUDED = 'project_excluded'
    BACK_OFF = 'back_off'
    COOL_DOWN = 'cool_down'
    TOO_LARGE = 'too_large'
    CONTRADICTION = 'contradiction'
    COMPANION_STAYS = 'companion_stays'
    COMPANIONS_ELSEWHERE = 'companions_elsewhere'
    COMPANION_LEFT = 'companion_left'
    KEPT_APART = 'kept_apart'
    ATTACHED = 'attached'
    NO_NOVA = 'no_nova'
    NOVA_SILENT = 'nova_silent'
    NO_ATTACHMENT = 'no_attachment'
    SHARED_BY_SERVERS = 'shared_by_servers'
    MULTIATTACH_IN_USE = 'multiattach_in_use'
    ATTACHED_TO_HOST = 'attached_to_host'
    SERVER_UNKNOWN = 'server_unknown'
    SERVER_UNCLEAR = 'server_unclear'
    SERVER_STOPPED = 'server_stopped'
    SERVER_BUSY = 'server_busy'
    SERVER_OFF = 'server_off'
    COMPUTE_DOWN = 'compute_down'
    NO_TELEMETRY = 'no_telemetry'
    POOL_UNLISTED = 'pool_unlisted'
    NO_MODEL = 'no_model'
    NO_OTHER_MODEL = 'no_other_model'
    NO_OTHER_POOL = 'no_other_pool'
    WHERE_IT_WAS = 'where_it_was'
    MOVED_ON = 'moved_on'
    UNDER_WAY = 'under_way'
    POOL_GONE = 'pool_gone'
    VOLUME_GONE = 'volume_gone'
    DRIFTS = 'drifts'
    UNEXPLAINED = 'unexplained'
    OTHER_ZONE = 'other_zone'
    OTHER_BACKEND = 'other_backend'
    TYPE_UNMET = 'type_unmet'
    POOL_MAX_FILL = 'pool_max_fill'
    MAX_FILL = 'max_fill'
    KEPT_FOR_GROWTH = 'kept_for_growth'
    NO_SPACE_YET = 'no_space_yet'
    NO_SPACE = 'no_space'
    SPACE_UNKNOWN = 'space_unknown'
    POOL_UNSEEN = 'pool_unseen'
    POOL_TOUCHED = 'pool_touched'
    POOL_DISABLED = 'pool_disabled'
    POOL_FROZEN = 'pool_frozen'
    POOL_DOWN = 'pool_down'
    SLOWER = 'slower'
    BUSIER = 'busier'
    NO_GAIN = 'no_gain'
    MIN_GAIN = 'min_gain'
    TYPE_MIN_GAIN = 'type_min_gain'
    SHIFTS_SLOS = 'shifts_slos'
    NOT_HOT = 'not_hot'
    VIOLATES_SLO = 'violates_slo'
    COPY_COSTS = 'copy_costs'
    MAX_MOVES = 'max_moves'
    MAX_GIB = 'max_gib'
    OTHERS_FIRST = 'others_first'


class Cause(enum.StrEnum):
    """The causes of moves, as plans write them."""

    HOT = 'hot'
    HOT_WITH_OTHERS = 'hot_with_others'
    FASTEST = 'fastest'
    SLO_RESTORED = 'slo_restored'
    SLO_EASED = 'slo_eased'
    FORECAST_AVOIDED = 'forecast_avoided'
    FORECAST_REDUCED = 'forecast_reduced'
    SPACE = 'space'
    EVACUATED = 'evacuated'
    UNDONE = 'undone'


class Reason(str):
    """A sentence that knows its code.

    :param code: None where it is not known, such as of an earlier release;
        one of a later release is no :class:`Code`
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


def code(reason: object) -> str | None:
    """The code of a reason, None where it says none."""
    return reason.code if isinstance(reason, Reason) else None
