# SPDX-License-Identifier: Apache-2.0
"""The directory of plans: ``ID.json``, deleted a week after they expire.

Several balancers may write and delete them at a time. A file that cannot be
read is left as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import os
import pathlib

from serifos import errors
from serifos.files import documents
from serifos.plan import plan as pl

_KEPT_S = 7 * 86400.0
"""How long a plan is kept after it has expired."""


def keep(directory: str | os.PathLike[str], plan: pl.Plan, now: float,
         say: Callable[[str], None]) -> pl.Plan:
    """Writes a plan for ``apply`` and deletes old ones.

    Where the last valid plan has the same moves, it is kept instead.

    :param say: is called with a sentence for each file that cannot be read
        or deleted
    :returns: the plan that is kept
    :raises InputError: where it cannot be written
    """
    there = pathlib.Path(directory)
    try:
        there.mkdir(mode=0o750, exist_ok=True)
    except OSError as exc:
        raise errors.InputError(
            f'{there} cannot be a directory of plans: {exc.strerror}.'
            ) from None
    valid = [old for path, old in _plans(there, say)
             if not _expired(path, old, now, say)]
    last = max(valid, key=lambda old: old.created_at, default=None)
    if last is not None and now < last.expires_at and (
            _steps(last) == _steps(plan)):
        return last
    documents.write_plan(there / f'{plan.id}.json', plan)
    return plan


def every(directory: str | os.PathLike[str],
          say: Callable[[str], None]) -> list[pl.Plan]:
    """The plans that are there, expired ones too.

    :param say: as of :func:`keep`
    """
    return [plan for _, plan in _plans(pathlib.Path(directory), say)]


def _steps(plan: pl.Plan) -> list[tuple[str, str, str]]:
    return [(move.volume, move.source, move.target) for move in plan.moves]


def _plans(there: pathlib.Path, say: Callable[[str], None]
           ) -> Iterator[tuple[pathlib.Path, pl.Plan]]:
    for path in sorted(there.glob('[!.]*.json')):
        try:
            found = documents.read_plan(path)
        except errors.SerifosError as exc:
            if os.path.lexists(path):  # else another balancer deleted it
                say(f'A file among the plans is left as it is: {exc}')
            continue
        yield path, found


def _expired(path: pathlib.Path, old: pl.Plan, now: float,
             say: Callable[[str], None]) -> bool:
    """Whether it expired long ago; deletes it then."""
    if old.expires_at + _KEPT_S >= now:
        return False
    try:
        path.unlink(missing_ok=True)
    except OSError as exc:
        say(f'{path}, an old plan, cannot be deleted: {exc.strerror}.')
    return True


def find(directory: str | os.PathLike[str], named: str) -> pl.Plan:
    """The plan in this file, or with this id in the directory of plans.

    :raises InputError: where there is none, or it cannot be read
    """
    for path in (pathlib.Path(named),
                 pathlib.Path(directory, f'{pathlib.Path(named).name}.json')):
        if os.path.isfile(path):  # false, too, for a name that can be none
            return documents.read_plan(path)
    raise errors.InputError(
        f'There is no plan {named}, neither as a file nor by this id in '
        f'{directory}.')
