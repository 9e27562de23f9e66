# SPDX-License-Identifier: Apache-2.0
"""Find a pool or a volume by what a person calls it."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence

from serifos import errors
from serifos.facts.cluster import Cluster
from serifos.facts.cluster import Pool
from serifos.facts.cluster import Volume
from serifos.facts import names
from serifos.report import wording

_PREFIX, _SHOWN = 4, 5


def pool(pools: Iterable[str], said: str) -> str | None:
    """The pool that is meant: by its name, or as tables have it.

    :param pools: whole names; None where none, or several, are called so
    """
    every = {*pools}
    if said in every:
        return said
    for meant in (
            [name for name in every if said in names.forms(name)],
            [name for name, short in names.short(every).items()
             if said in (short, wording.name(short))]):
        if len(meant) == 1:
            return meant[0]
    return None


def find(cluster: Cluster, said: str) -> Pool | Volume:
    """The pool or volume that is meant.

    A pool by its name, its backend or host where these have no other, as
    tables have it, or else by what only its name begins with up to a ``.``,
    ``@`` or ``#``; a volume by its id, its name, what tables call it, or four
    or more characters that its id, else only its name begins with.

    :raises InputError: where there is none, or several
    """
    pools = {pool.name for pool in cluster.pools}
    meant = pool(pools, said)
    if meant is not None:
        return cluster.pool(meant)
    shown_as = wording.volumes(cluster)
    for fits in (lambda v: v.id == said, lambda v: v.name == said,
                 lambda v: shown_as[v.id] == said,
                 lambda v: len(said) >= _PREFIX and v.id.startswith(said),
                 lambda v: len(said) >= _PREFIX and (
                     v.name or '').startswith(said)):
        volumes = [volume for volume in cluster.volumes if fits(volume)]
        if len(volumes) == 1:
            return volumes[0]
        if volumes:
            raise _several('volumes', 'ids', said, [
                volume.id for volume in volumes])
    begin = [name for name in sorted(pools)
             if name.startswith(tuple(f'{said}{end}' for end in '.@#'))]
    if len(begin) == 1:
        return cluster.pool(begin[0])
    if begin:
        raise _several('pools', 'names', said, begin)
    raise errors.InputError(
        f'The cluster has no pool and no volume {errors.one_line(said)}.')


def _several(what: str, called: str, said: str,
             names: Sequence[str]) -> errors.InputError:
    more = len(names) - _SHOWN
    return errors.InputError(
        f'{len(names)} {what} are called {errors.one_line(said)}; give one of '
        f'their {called}: {", ".join(names[:_SHOWN])}'
        + (f' and {more} more' if more > 0 else '') + '.')
