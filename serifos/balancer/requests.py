# SPDX-License-Identifier: Apache-2.0
"""All requests by which the balancer changes something in Cinder.

Each is sent only after the proof that this balancer leads.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses

from serifos.facts.inventory import Cloud


def no_proof() -> None:
    """Proves nothing, for where there is no other balancer."""


@dataclasses.dataclass(frozen=True)
class Requests:
    """Requests to one cloud.

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
