# SPDX-License-Identifier: Apache-2.0
"""Nova's servers and compute services, as far as attached volumes need them.

Cinder has Nova copy a volume in use. What Nova would refuse is decided in
:mod:`serifos.plan.eligibility`.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
from typing import Protocol


@dataclasses.dataclass(frozen=True, slots=True)
class Attachment:
    """An attachment of a volume, as Cinder keeps it for Nova.

    Without the secrets of its connection. A record of a volume lists only
    those that are complete. While Nova copies a volume in use, the copy has
    one that is ``reserved`` (Nova was asked) and then ``attaching`` (the
    compute host may connect it).

    :param server_id: None for one to a host itself
    :param status: ``reserved``, ``attaching``, ``attached``, ...
    :param targets: (portal, IQN) of each path
    """

    id: str
    volume: str
    status: str
    server_id: str | None = None
    targets: tuple[tuple[str, str], ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Server:
    """A server as Nova lists it.

    :param status: ``ACTIVE``, ``SHUTOFF``, ``VERIFY_RESIZE``, ...;
        ``UNKNOWN`` where its cell does not answer
    :param vm_state: ``active``, ``stopped``, ``resized``, ...; None where its
        cell does not answer
    :param task_state: what Nova does with it now, None for nothing
    :param host: of the nova-compute service that runs it
    :param domain: its name in libvirt
    :param hypervisor: the name of the compute host itself
    :param off: its power state where that says that it does not run, such as
        ``NOSTATE`` once its compute host has booted; else None
    """

    id: str
    name: str
    status: str | None
    vm_state: str | None = None
    task_state: str | None = None
    host: str | None = None
    domain: str | None = None
    hypervisor: str | None = None
    off: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class ComputeService:
    """A nova-compute service."""

    host: str
    up: bool = True


@dataclasses.dataclass(frozen=True, slots=True)
class Action:
    """An action of a server, such as ``swap_volume``, as Nova records it.

    :param began_at: seconds of the epoch
    :param ended_at: of all that it consists of; None where not all ended
    :param failed: whether something of it ended with an error
    """

    name: str
    began_at: float
    ended_at: float | None = None
    failed: bool = False


@dataclasses.dataclass(frozen=True)
class Doings:
    """What Nova records of a server and of one of its volumes.

    :param actions: since some time, the oldest first
    :param attachment_id: the attachment by which it uses the volume; None
        where it does not
    :param device: the volume's, such as ``/dev/vdb``
    :param problem: why Nova could not be asked, a clause
    """

    actions: tuple[Action, ...] = ()
    attachment_id: str | None = None
    device: str | None = None
    problem: str | None = None


@dataclasses.dataclass(frozen=True)
class Servers:
    """The servers and compute services, at one moment.

    :param by_id: the servers by their ids
    :param services: by their hosts
    :param absent: why there is no Nova to ask, a clause
    :param problem: why a Nova that there is could not be asked, a clause
    """

    by_id: Mapping[str, Server] = dataclasses.field(default_factory=dict)
    services: Mapping[str, ComputeService] = dataclasses.field(
        default_factory=dict)
    absent: str | None = None
    problem: str | None = None


class Compute(Protocol):
    """The port that Nova's client and its fake implement.

    No method raises an error where Nova does not answer: what it returns says
    so, since volumes that no server uses do not need Nova.
    """

    def servers(self) -> Servers:
        """All servers, of all projects."""

    def server(self, server_id: str) -> Servers:
        """One server, none where it is gone, and its compute service."""

    def doings(self, server_id: str, volume_id: str,
               since: float) -> Doings:
        """What was done with a server since then, and a volume of its.

        Also of a server that is deleted.

        :param since: seconds of the epoch
        """


@dataclasses.dataclass(frozen=True)
class NoCompute:
    """The port where there is no Nova to ask.

    :param why: a clause
    """

    why: str

    def servers(self) -> Servers:
        return Servers(absent=self.why)

    def server(self, server_id: str) -> Servers:
        return self.servers()

    def doings(self, server_id: str, volume_id: str,
               since: float) -> Doings:
        return Doings(problem=self.why)


NOT_CONFIGURED = NoCompute('it is not configured')
