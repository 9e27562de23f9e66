# SPDX-License-Identifier: Apache-2.0
"""When Cinder says no: whose matter is it, and when is it asked again?

A no is no failure of the cloud. Most concern one volume at one moment: its
tenant took a snapshot, extended or deleted it since it was looked at. Some
concern the moment alone: we, or all together, ask too much. The rest
concern us: an account without the right, a URL that leads nowhere.
"""

from __future__ import annotations

from serifos import errors

OF_THE_VOLUME = frozenset((400, 404, 409, 412, 422, 423))
"""Its state, its target's or the limits of its owner: as the API checks them.

400 is what Cinder 29 says of a status, a snapshot, a group, a target that
is down. 404 is a volume that is gone. 409, 412, 422 and 423 are what
proxies and other releases say of a state that does not fit.
"""

FOR_NOW = frozenset((413, 429))
"""Over a limit of requests, by Cinder (413) or a proxy (429)."""

MISDIRECTED = 421
"""What we call a 404 that is none of the volume: of the URL itself."""

RETRY_S = 30.0
"""Where Cinder does not say when to ask again."""

LONGEST_RETRY_S = 300.0
"""For which we wait at most, whatever it says."""


class Refused(errors.CloudError):
    """Cinder answered, and said no; nothing has changed.

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
        """Whether another volume may be asked for."""
        return self.status in OF_THE_VOLUME

    @property
    def for_now(self) -> bool:
        """Whether the same is asked for again, after ``retry_s``."""
        return self.status in FOR_NOW


def _seconds(retry_after: str | None) -> float:
    """A date is not read: it would be of another clock than ours."""
    try:
        said = int(retry_after or '')
    except ValueError:
        return RETRY_S
    return min(max(1.0, float(min(said, 10 ** 9))), LONGEST_RETRY_S)
