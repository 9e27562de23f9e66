# SPDX-License-Identifier: Apache-2.0
"""Which of several balancers acts? The one that holds the lock.

A lock, since leader election is missing from half of tooz's drivers. It is
released when its process ends, and by the collector when nobody refers to
it, hence the object that keeps it.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import socket

from oslo_log import log
from tooz import coordination

from serifos import errors

LOG = log.getLogger(__name__)

_NAME = b'serifos-balancer'


class Lead:
    """The right to act, taken and given back.

    :param url: tooz's, such as ``file:///var/lib/serifos/lock``
    :raises CloudError: where the other side of the URL does not answer
    """

    def __init__(self, url: str) -> None:
        member = f'{socket.gethostname()}-{os.getpid()}'
        try:
            if url.startswith('file://'):
                pathlib.Path(url.removeprefix('file://')).mkdir(
                    mode=0o750, exist_ok=True)
            self._coordinator = coordination.get_coordinator(
                url, member.encode())
            self._coordinator.start(start_heart=True)
        except (coordination.ToozError, OSError, RuntimeError) as exc:
            raise errors.CloudError(
                f'The lock of the balancers cannot be had ({exc}); look at '
                '[balancer] lock_url.') from None
        self._lock = self._coordinator.get_lock(_NAME)
        self.held = False

    def take(self) -> bool:
        """Tries to take the lock, or to keep it; True where it is ours."""
        if self.held and self._lock.acquired:
            return True
        try:
            self.held = bool(self._lock.acquire(blocking=False))
        except coordination.ToozError as exc:
            LOG.warning('The lock of the balancers cannot be had: %s', exc)
            self.held = False
        return self.held

    def give_back(self) -> None:
        """Lets another balancer act; nothing where the lock is not ours."""
        if self.held:
            self.held = False
            with contextlib.suppress(coordination.ToozError):
                self._lock.release()

    def leave(self) -> None:
        """Gives the lock back and the connection up."""
        self.give_back()
        with contextlib.suppress(coordination.ToozError):
            self._coordinator.stop()

    def __enter__(self) -> Lead:
        """:raises InputError: where another balancer acts"""
        if not self.take():
            self.leave()
            raise errors.InputError(
                'Another balancer is acting; stop it, or set [balancer] mode '
                '= advise and send it SIGHUP, and try again.')
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()
