# SPDX-License-Identifier: Apache-2.0
"""The leader among balancers: tooz lock, fencing token, its requests.

A lock, since half of tooz's drivers lack leader election. A driver reports
the lock from its own memory: MariaDB releases it with a connection that it
closes, etcd with a lease that a stopped process did not renew, and the
driver does not notice. So whoever gets the lock also increments the fencing
token of the journal, and before every request to Cinder both are checked
with their servers: the lock is taken, and the token is still the same. All
requests by which the balancer changes something in Cinder are in
:class:`Requests`.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import contextlib
import dataclasses
import os
import pathlib
import socket
from typing import Protocol
from typing import Self
from typing import TYPE_CHECKING
from urllib import parse

from oslo_log import log

from serifos import errors
from serifos.facts.inventory import Cloud
from serifos.facts.journal import Journal
from serifos.files import owners

if TYPE_CHECKING:
    from tooz import coordination
    from tooz import locking

LOG = log.getLogger(__name__)

_NAME = b'serifos-balancer'
_LOCAL = ('file', 'ipc')
_EXTRAS = {'mysql': 'mysql', 'postgresql': 'postgresql',
           'etcd3+http': 'etcd', 'etcd3+https': 'etcd'}


class Fenced(Journal, Protocol):
    """A journal with a fencing token."""

    @property
    def local_file(self) -> pathlib.Path | None:
        """Its file; None where other hosts reach it too."""

    def take_lead(self, member: str, mode: str) -> Self:
        """The journal, to be written by the new leader."""

    def give_lead_back(self) -> None:
        """Says that nobody leads, unless another balancer took the lead."""

    def prove(self) -> None:
        """:raises NotLeading: where another balancer has taken the lead"""


def refuse_local_journal(url: str, journal: Fenced) -> None:
    """:raises InputError: where hosts share the lock but not the journal"""
    if _parts(url).scheme in _LOCAL or journal.local_file is None:
        return
    raise errors.InputError(
        f'The lock is shared with other hosts, but the journal '
        f'{journal.local_file} is not, so that each host would not know '
        'what the others moved; set [database] connection to a '
        'database that all of them reach, or stay in mode advise.')


def _parts(url: str) -> parse.SplitResult:
    try:
        parts = parse.urlsplit(url)
        parts.port  # noqa: B018  it is parsed
    except ValueError:
        parts = None
    if parts is None or not parts.scheme:
        raise errors.InputError(
            '[balancer] lock_url is not a URL; give one such as '
            'etcd3+http://HOST:2379, or leave it unset.')
    return parts


def host(member: str) -> str:
    """The host of a balancer, as the journal names who leads."""
    return member.rpartition('-')[0]


def has_ended(member: str) -> bool:
    """Whether a balancer of this host runs no more; False of other hosts."""
    its_host, _, process = member.rpartition('-')
    return its_host == socket.gethostname() and not os.path.exists(
        f'/proc/{process}')


class Lead:
    """Leadership among balancers: lock and fencing token.

    :param url: tooz's, such as ``file:///var/lib/serifos/lock``
    :param journal: has the fencing token
    :param mode: of the daemon, or the verb that leads, for others to know
    :raises InputError: where the URL is invalid
    """

    def __init__(self, url: str, journal: Fenced, mode: str) -> None:
        self._url, self._fence, self._mode = url, journal, mode
        self._parts = _parts(url)
        self._member = f'{socket.gethostname()}-{os.getpid()}'
        self._journal: Fenced | None = None
        self._coordinator: coordination.CoordinationDriver | None = None
        self._lock: locking.Lock | None = None

    @property
    def journal(self) -> Fenced:
        """The journal, to be written while this balancer leads.

        :raises NotLeading: where it does not
        """
        if self._journal is None:
            raise errors.NotLeading('This balancer does not lead.')
        return self._journal

    def take(self) -> bool:
        """Takes the lead, or proves it; True where this balancer leads.

        :raises SerifosError: where the lock or the journal cannot be reached
        """
        if self._journal is not None:
            try:
                self.prove()
                return True
            except errors.NotLeading as exc:
                LOG.warning('%s', exc)
        refuse_local_journal(self._url, self._fence)
        if not self._acquire():
            return False
        try:
            self._journal = self._fence.take_lead(self._member, self._mode)
        except errors.SerifosError:
            self._lose()
            raise
        LOG.info('This balancer leads.')
        return True

    def prove(self) -> None:
        """Asks the servers whether this balancer leads, before it acts.

        A lock that its server released is taken again; if no other balancer
        took the lead in between, this one keeps it.

        :raises NotLeading: where it does not lead or a server does not
            answer; the lead is given back then
        """
        journal, kept = self.journal, False
        try:
            kept = not self._is_free()
            if not kept:
                LOG.warning('The lock of the balancers was lost; it is taken '
                            'again.')
                self._forget()
                if not self._acquire():
                    raise errors.NotLeading(
                        'Another balancer has the lock; this one stops '
                        'acting.')
            journal.prove()
        except errors.SerifosError as exc:
            self._lose()
            if isinstance(exc, errors.NotLeading):
                if kept and self._parts.scheme in _LOCAL:
                    LOG.warning(
                        'The balancer that leads now does not use the lock '
                        '%s: set [balancer] lock_url of all hosts that share '
                        'the database to a lock that they share, too.',
                        self._url)
                raise
            raise errors.NotLeading(
                f'This balancer cannot prove that it leads: {exc}'
            ) from None

    def give_back(self) -> None:
        """Lets another balancer lead; does nothing where it does not lead."""
        if self._journal is not None:
            with contextlib.suppress(errors.SerifosError):
                self._journal.give_lead_back()
        self._lose()

    def _lose(self) -> None:
        """Leads no more, whatever the journal says."""
        self._journal = None
        self._forget()

    def __enter__(self) -> Lead:
        """:raises InputError: where another balancer acts"""
        if not self.take():
            self.give_back()
            raise errors.InputError(
                'Another balancer is acting; stop it, or set [balancer] mode '
                '= advise and send it SIGHUP, and try again.')
        return self

    def __exit__(self, *_: object) -> None:
        self.give_back()

    def _connect(self) -> None:
        if self._parts.scheme == 'file':
            owners.make_directory(pathlib.Path(self._parts.path))
        # Only who takes the lead needs it: it takes long to load.
        from tooz import coordination  # noqa: PLC0415
        try:
            self._coordinator = coordination.get_coordinator(
                self._url, self._member.encode())
            self._coordinator.start(start_heart=True)
            self._lock = self._coordinator.get_lock(_NAME)
        except Exception as exc:  # each driver has its own
            self._coordinator = self._lock = None
            raise self._sentence(exc) from None

    def _acquire(self) -> bool:
        if self._lock is None:
            self._connect()
        try:
            return bool(self._lock.acquire(blocking=False))
        except Exception as exc:  # each driver has its own
            self._forget()
            raise self._sentence(exc) from None

    def _is_free(self) -> bool:
        """Whether the server would give the lock to another client.

        :raises CloudError: where it does not answer
        """
        try:
            other = self._coordinator.get_lock(_NAME)
            if not other.acquire(blocking=False):
                return False
            other.release()
            return True
        except Exception as exc:  # each driver has its own
            raise self._sentence(exc) from None

    def _forget(self) -> None:
        """Releases lock and connection, whatever the server answers."""
        lock, self._lock = self._lock, None
        coordinator, self._coordinator = self._coordinator, None
        with contextlib.suppress(Exception):
            if lock is not None:
                lock.release()
        with contextlib.suppress(Exception):
            if coordinator is not None:
                coordinator.stop()

    def _sentence(self, exc: Exception) -> errors.SerifosError:
        text, scheme = str(exc).rstrip('.'), self._parts.scheme
        if self._parts.password:
            text = text.replace(self._parts.password, errors.MASK)
        if isinstance(exc, (ImportError, RuntimeError)) and scheme in _EXTRAS:
            text = (f'{text}; if that is missing, install it with pip '
                    f'install serifos[{_EXTRAS[scheme]}]')
        return errors.CloudError(
            f'Cannot acquire the balancer lock from {self._url}: '
            f'{text or type(exc).__name__}; look at [balancer] lock_url.')


def no_proof() -> None:
    """Proves nothing, for where there is no other balancer."""


@dataclasses.dataclass(frozen=True)
class Requests:
    """Requests that change something in one cloud.

    Each raises what ``prove`` raises, before it is sent; CloudError where
    Cinder does not answer and ``cinder_errors.Refused`` where it refuses.

    :param prove: raises NotLeading where this balancer is not the leader
    """

    cinder: Cloud
    prove: Callable[[], None] = no_proof

    def migrate(self, volume: str, pool: str) -> None:
        self.prove()
        self.cinder.migrate(volume, pool)

    def complete(self, volume: str, copy: str) -> None:
        """Asks for the copy to become the volume."""
        self.prove()
        self.cinder.complete(volume, copy)

    def reset(self, volume: str, status: str | None = None) -> None:
        """Clears the migration status, and sets the status where given."""
        self.prove()
        self.cinder.reset(volume, status)

    def delete_attachment(self, attachment: str) -> None:
        self.prove()
        self.cinder.delete_attachment(attachment)

    def relabel(self, volume: str, named: Mapping[str, str],
                metadata: Mapping[str, str | None]) -> None:
        """Sets name and description, and items of metadata."""
        self.prove()
        self.cinder.relabel(volume, named, metadata)

    def delete(self, volume: str) -> None:
        """Deletes a record, and its logical volume where it has one."""
        self.prove()
        self.cinder.delete(volume)

    def unmanage(self, volume: str) -> None:
        """Removes a record, not its logical volume."""
        self.prove()
        self.cinder.unmanage(volume)
