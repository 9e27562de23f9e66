# SPDX-License-Identifier: Apache-2.0
"""What the balancer asks Cinder to change: the one place where it does.

Each request is made only after the proof that this balancer may act.
"""

from __future__ import annotations

from collections.abc import Callable
import dataclasses

from serifos.facts import inventory as inv


def nothing() -> None:
    """No proof is needed: nobody else can act."""


@dataclasses.dataclass(frozen=True)
class Requests:
    """Requests to one cloud.

    Each raises CloudError where Cinder does not answer, ``refused.Refused``
    where it says no, and what ``prove`` raises, before anything is asked.

    :param prove: raises where we may not act, or cannot know
    """

    cinder: inv.Cloud
    prove: Callable[[], None] = nothing

    def migrate(self, volume: str, pool: str) -> None:
        self.prove()
        self.cinder.migrate(volume, pool)

    def reset(self, volume: str, status: str | None = None) -> None:
        """Clears the migration status, and sets the status where given."""
        self.prove()
        self.cinder.reset(volume, status)

    def delete(self, volume: str) -> None:
        """Deletes a record, and its logical volume where it has one."""
        self.prove()
        self.cinder.delete(volume)

    def unmanage(self, volume: str) -> None:
        """Removes a record, and leaves alone whatever it names."""
        self.prove()
        self.cinder.unmanage(volume)
