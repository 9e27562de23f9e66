# SPDX-License-Identifier: Apache-2.0
"""Pools and volumes by what people call them."""

from __future__ import annotations

from serifos import errors
from serifos.facts import cluster as cl
from serifos.facts import names
from serifos.report.plan import wording as wd

_PREFIX, _SHOWN = 4, 5


def found(cluster: cl.Cluster, said: str) -> cl.Pool | cl.Volume:
    """The pool or volume that is meant.

    A pool by its name, its backend or host where these have no other, or as
    tables have it; a volume by its id, its name, what tables call it, or four
    or more characters that its id, else its name alone begins with.

    :raises InputError: where there is none, or several
    """
    pools = {pool.name for pool in cluster.pools}
    if said in pools:
        return cluster.pool(said)
    meant = [name for name in sorted(pools) if said in names.forms(name)]
    meant = meant if len(meant) == 1 else [
        name for name, shown in wd.pools(pools).items() if said == shown]
    if len(meant) == 1:
        return cluster.pool(meant[0])
    shown_as = wd.volumes(cluster)
    for fits in (lambda v: v.id == said, lambda v: v.name == said,
                 lambda v: shown_as[v.id] == said,
                 lambda v: len(said) >= _PREFIX and v.id.startswith(said),
                 lambda v: len(said) >= _PREFIX and (
                     v.name or '').startswith(said)):
        volumes = [volume for volume in cluster.volumes if fits(volume)]
        if len(volumes) == 1:
            return volumes[0]
        if volumes:
            shown = ', '.join(volume.id for volume in volumes[:_SHOWN])
            more = len(volumes) - _SHOWN
            raise errors.InputError(
                f'{len(volumes)} volumes are called {errors.one_line(said)}; '
                f'give one of their ids: {shown}'
                + (f' and {more} more' if more > 0 else '') + '.')
    raise errors.InputError(
        f'The cluster has no pool and no volume {errors.one_line(said)}.')
