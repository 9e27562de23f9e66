# SPDX-License-Identifier: Apache-2.0
"""Attachments of a volume, as Cinder keeps them for Nova.

A record of a volume lists those that are complete alone. While Nova copies a
volume in use, the copy has one that is ``reserved`` (Nova was asked) and then
``attaching`` (the compute host may connect it).
"""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Attachment:
    """An attachment, without the secrets of its connection.

    :param server_id: None for one to a host itself
    :param status: ``reserved``, ``attaching``, ``attached``, ...
    :param targets: (portal, IQN) of each path
    """

    id: str
    volume: str
    status: str
    server_id: str | None = None
    targets: tuple[tuple[str, str], ...] = ()
