# SPDX-License-Identifier: Apache-2.0
"""The plans of earlier releases, files of one host, to be taken over.

``ID.json`` each, in a directory. A file that cannot be read is left as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import dataclasses
import os
import pathlib

from serifos import errors
from serifos.files import documents
from serifos.files import owners
from serifos.plan import plan as pl


@dataclasses.dataclass(frozen=True)
class OldPlans:
    """Such a directory; it need not be there."""

    directory: pathlib.Path

    @property
    def aside(self) -> pathlib.Path:
        """Where the files go that were taken over."""
        return self.directory.with_name(f'{self.directory.name}.imported')

    def read(self, say: Callable[[str], None]
             ) -> Iterator[tuple[pathlib.Path, pl.Plan]]:
        """Each file that is a plan, and that plan.

        :param say: is called with a sentence for each that is none
        """
        for path in sorted(self.directory.glob('[!.]*.json')):
            try:
                found = documents.read_plan(path)
            except errors.SerifosError as exc:
                if os.path.lexists(path):  # else another one put it aside
                    say(f'A file among the plans is left as it is: {exc}')
                continue
            yield path, found

    def path(self, plan_id: str) -> pathlib.Path | None:
        """The file of a plan, None where there is none."""
        path = self.directory / f'{plan_id}.json'
        return path if os.path.isfile(path) else None

    def put_aside(self, path: pathlib.Path,
                  say: Callable[[str], None]) -> bool:
        """Moves a file that was taken over; False where another one did.

        :param say: is called with a sentence where that cannot be
        """
        try:
            owners.make_directory(self.aside)
            os.rename(path, self.aside / path.name)
        except FileNotFoundError:
            return False
        except (OSError, errors.InputError) as exc:
            say(f'{path}, a plan that is in the database now, cannot be put '
                f'aside: {getattr(exc, "strerror", None) or exc}')
            return False
        with contextlib.suppress(OSError):
            self.directory.rmdir()  # once it is empty
        return True
