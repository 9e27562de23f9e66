# SPDX-License-Identifier: Apache-2.0
"""Refusals by Cinder: of the volume, for now, or of our account or URL.

A refusal is not a failure of the cloud. Most concern one volume: its tenant
took a snapshot, extended or deleted it since it was observed. Some are rate
limits. The rest are ours: an account without the right, a wrong URL.
"""

from __future__ import annotations

from serifos import errors

OF_THE_VOLUME = frozenset((400, 404, 409, 412, 422, 423))
"""HTTP statuses for the state of the volume, its target or its quota.

Cinder 29 answers 400 for a status, a snapshot, a group or a target that is
down, and 404 for a volume that is gone; proxies and other releases answer
409, 412, 422 or 423 for a state that does not fit.
"""

FOR_NOW = frozenset((413, 429))
"""HTTP statuses of a rate limit, by Cinder (413) or a proxy (429)."""

MISDIRECTED = 421
"""Stands for a 404 of the URL itself rather than of a volume."""

RETRY_S = 30.0
"""The wait where Cinder gives no Retry-After."""

LONGEST_RETRY_S = 300.0
"""The longest wait, whatever Retry-After says."""


class Refused(errors.CloudError):
    """Cinder refused a request; nothing has changed.

    :param status: the answer's HTTP status
    :param retry_after: its header Retry-After, None where it has none
    """

    def __init__(self, message: str, status: int = 400,
                 retry_after: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_s = _seconds(retry_after)

    @property
    def of_the_volume(self) -> bool:
        """Whether requests for other volumes may succeed."""
        return self.status in OF_THE_VOLUME

    @property
    def for_now(self) -> bool:
        """Whether the same request is sent again, after ``retry_s``."""
        return self.status in FOR_NOW


def _seconds(retry_after: str | None) -> float:
    """A date is ignored: it would be by another clock."""
    try:
        said = int(retry_after or '')
    except ValueError:
        return RETRY_S
    return min(max(1.0, float(min(said, 10 ** 9))), LONGEST_RETRY_S)
