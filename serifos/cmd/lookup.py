# SPDX-License-Identifier: Apache-2.0
"""Pools and volumes by what people call them."""

from __future__ import annotations

from serifos import errors
from serifos.facts import cluster as cl
from serifos.facts import names

_PREFIX, _SHOWN = 4, 5


def found(cluster: cl.Cluster, said: str) -> cl.Pool | cl.Volume:
    """The pool or volume that is meant.

    A pool by its name, or as :func:`.names.short` has it; a
    volume by its id, four or more characters that its id alone begins with,
    or its name.

    :raises InputError: where there is none, or several
    """
    pools = {pool.name for pool in cluster.pools}
    by_short = {short: name for name, short in names.short(pools).items()}
    if said in pools:
        return cluster.pool(said)
    if said in by_short:
        return cluster.pool(by_short[said])
    for fits in (lambda v: v.id == said, lambda v: v.name == said,
                 lambda v: len(said) >= _PREFIX and v.id.startswith(said)):
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
