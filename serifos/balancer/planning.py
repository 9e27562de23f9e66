# SPDX-License-Identifier: Apache-2.0
"""How does an observation become a plan?"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
import itertools
import os
import pathlib
from typing import Any
import uuid

from serifos import cluster as cl
from serifos import errors
from serifos.model import elsewhere
from serifos.model import fleet
from serifos.model import model as mm
from serifos import model_files
from serifos.plan import bfd
from serifos.plan import limits as lm
from serifos.plan import movable
from serifos.plan import plan as pl
from serifos.plan import relieve
from serifos import store

PLANNERS = {'bfd': bfd.plan, 'relieve': relieve.plan}


def models(cluster: cl.Cluster, directory: str | os.PathLike[str],
           say: Callable[[str], None]) -> dict[str, mm.Model]:
    """The models that the pools name, as far as they can be read.

    :param say: is told of each that cannot
    :raises InputError: where there is no such directory
    """
    if not os.path.isdir(directory):
        raise errors.InputError(
            f'There is no directory of models {directory}; name it with '
            '--models.')
    found, broken = model_files.readable(
        directory, {pool.model for pool in cluster.pools if pool.model})
    for stem, why in broken.items():
        say(without(cluster, stem, why))
    return found


def without(cluster: cl.Cluster, stem: str, why: str) -> str:
    """The sentence for a model that cannot be read."""
    pools = [pool.name for pool in cluster.pools if pool.model == stem]
    more = f' and {len(pools) - 3} more' if len(pools) > 3 else ''
    return f'{why} Left out with it: {", ".join(pools[:3])}{more}.'


def relations(directory: str | os.PathLike[str] | None,
              models: Iterable[str], say: Callable[[str], None]
              ) -> elsewhere.Relations:
    """Those between models, files ``FROM--TO.json``; none without a place.

    :param say: is told of each file that is none
    :raises InputError: where there is no such directory
    """
    if directory is None:
        return {}
    there = pathlib.Path(directory)
    if not os.path.isdir(there):
        raise errors.InputError(
            f'There is no directory of relations {directory}; name it in '
            '[balancer] relations_dir, or leave that out.')
    found = {}
    for pair in itertools.permutations(sorted(models), 2):
        path = there / f'{"--".join(pair)}.json'
        if not os.path.lexists(path):
            continue
        try:
            found[pair] = store.read_relation(path)
        except errors.SerifosError as exc:
            say(f'A relation is left out: {exc}')
        except model_files.BROKEN as exc:
            say(f'A relation is left out: {path} cannot be used: {exc!r}.')
    return found


def known(cluster: cl.Cluster, found: Mapping[str, mm.Model],
          floor: float, say: Callable[[str], None],
          relations_dir: str | os.PathLike[str] | None = None
          ) -> tuple[cl.Cluster, fleet.Fleet | elsewhere.Elsewhere]:
    """What predicts for each pool, and the cluster as it is to be asked.

    :param found: the models; a pool whose model is not there has none
    :param relations_dir: where the relations of the models are, if any
    :raises InputError: as :func:`relations`
    """
    known_of = relations(relations_dir, found, say)
    stems = [pool.model if pool.model in found else None
             for pool in cluster.pools]
    of_pools = [found[stem] if stem else None for stem in stems]
    if not known_of:
        if relations_dir is not None and len(found) > 1:
            say(f'No file of {relations_dir} is FROM--TO.json by the names '
                f'of two of the models {", ".join(sorted(found))}; volumes '
                'are taken to keep as many requests outstanding as they '
                'have.')
        return cluster, fleet.Fleet(of_pools, floor)
    return (elsewhere.expected(cluster, found, known_of, floor),
            elsewhere.Elsewhere(of_pools, stems, floor))


def plan(planner: str, cluster: cl.Cluster, limits: lm.Limits,
         found: Mapping[str, mm.Model], say: Callable[[str], None],
         relations_dir: str | os.PathLike[str] | None = None) -> pl.Plan:
    """A plan by one of the :data:`PLANNERS`.

    :raises InputError: as :func:`known`
    """
    asked, them = known(cluster, found, limits.active_floor, say,
                        relations_dir)
    return PLANNERS[planner](asked, them.load, them.latency, limits)


def document(made: pl.Plan, now: float, ttl_s: float) -> dict[str, Any]:
    """A ``serifos-plan/1`` document with an id, valid for ``ttl_s``."""
    return made.to_json(str(uuid.uuid4()), movable.stamp(now),
                        movable.stamp(now + ttl_s))


def changed(move: pl.Move, cluster: cl.Cluster) -> str | None:
    """Why a planned move may no longer be made, or None where it may."""
    volume = next((v for v in cluster.volumes if v.id == move.volume), None)
    target = next((p for p in cluster.pools if p.name == move.target), None)
    if volume is None:
        return 'it is no longer there'
    if volume.pool != move.source:
        return f'it is on {volume.pool} now'
    if volume.movable is not True:
        return str(volume.movable)
    if target is None:
        return f'there is no pool {move.target}'
    if volume.size_gib > target.free_gib:
        return lm.no_room(target, target.free_gib, volume.size_gib)
    return lm.bar(cluster.pool(volume.pool).zone,
                  volume.required_backend_name, volume.volume_type, target)
