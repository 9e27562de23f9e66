# SPDX-License-Identifier: Apache-2.0
"""How does an observation become a plan, and where are plans kept?"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
import datetime
import os
import pathlib
from typing import Any
import uuid

from serifos import cluster as cl
from serifos import errors
from serifos.model import elsewhere
from serifos.model import fleet
from serifos.model import model as mm
from serifos.plan import bfd
from serifos.plan import limits as lm
from serifos.plan import movable
from serifos.plan import plan as pl
from serifos.plan import relieve
from serifos import store

PLANNERS = {'bfd': bfd.plan, 'relieve': relieve.plan}

_KEPT_S = 7 * 86400.0
"""How long a plan is kept after it has expired."""


def stems(directory: str | os.PathLike[str]) -> frozenset[str]:
    """The names of the models in a directory; none where there is none."""
    return frozenset(
        path.stem for path in pathlib.Path(directory).glob('*.json'))


def models(cluster: cl.Cluster, directory: str | os.PathLike[str],
           say: Callable[[str], None]) -> dict[str, mm.Model]:
    """The models that the pools name, those without a file left out.

    :param say: is told of each that has no file
    :raises InputError: where there is no such directory, or a file is not
        a model of latency
    """
    if not pathlib.Path(directory).is_dir():
        raise errors.InputError(
            f'There is no directory of models {directory}; name it with '
            '--models.')
    found = {}
    for stem in sorted({pool.model for pool in cluster.pools if pool.model}):
        if pathlib.PurePath(stem).name != stem or not stem.isprintable():
            raise errors.InputError(
                f'A pool names the model {stem!r}; a model is named by its '
                'file in the models directory, without .json.')
        path = pathlib.Path(directory, f'{stem}.json')
        if not path.exists():
            say(f'there is no model {path}; its pools are left out of the '
                'plan.')
            continue
        found[stem] = store.read_model(path)
        if not found[stem].predicts.endswith('_us'):
            raise errors.InputError(
                f'{path} predicts {found[stem].predicts}; a plan needs '
                'models of latency, in µs.')
    return found


def relations(directory: str | os.PathLike[str] | None,
              models: Iterable[str]) -> elsewhere.Relations:
    """Those between models, files ``FROM--TO.json``; none without a place.

    :raises InputError: where there is no such directory, or a file is none
    """
    if directory is None:
        return {}
    there = pathlib.Path(directory)
    if not there.is_dir():
        raise errors.InputError(
            f'There is no directory of relations {directory}; name it in '
            '[balancer] relations_dir, or leave that out.')
    stems = sorted(models)
    return {(a, b): store.read_relation(path)
            for a in stems for b in stems if a != b
            and (path := there / f'{a}--{b}.json').exists()}


def known(cluster: cl.Cluster, directory: str | os.PathLike[str],
          floor: float, say: Callable[[str], None],
          relations_dir: str | os.PathLike[str] | None = None
          ) -> tuple[cl.Cluster, fleet.Fleet | elsewhere.Elsewhere]:
    """What predicts for each pool, and the cluster as it is to be asked.

    :param relations_dir: where the relations of the models are, if any
    :raises InputError: as :func:`models` and :func:`relations`
    """
    found = models(cluster, directory, say)
    known_of = relations(relations_dir, found)
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
         directory: str | os.PathLike[str], say: Callable[[str], None],
         relations_dir: str | os.PathLike[str] | None = None) -> pl.Plan:
    """A plan by one of the :data:`PLANNERS`.

    :raises InputError: as :func:`known`
    """
    asked, them = known(cluster, directory, limits.active_floor, say,
                        relations_dir)
    return PLANNERS[planner](asked, them.load, them.latency, limits)


def document(made: pl.Plan, now: float, ttl_s: float) -> dict[str, Any]:
    """A ``serifos-plan/1`` document with an id, valid for ``ttl_s``."""
    return made.to_json(str(uuid.uuid4()), movable.stamp(now),
                        movable.stamp(now + ttl_s))


def keep(directory: str | os.PathLike[str], doc: Mapping[str, Any],
         now: float) -> Mapping[str, Any]:
    """Writes a plan where ``apply`` finds it, as ``ID.json``; old ones go.

    A plan of the same moves as the last that is still valid is not written
    again.

    :returns: the plan of these moves that is kept
    """
    there = pathlib.Path(directory)
    there.mkdir(mode=0o750, exist_ok=True)
    plans = [(path, store.read_plan(path)) for path in there.glob('*.json')]
    for path, old in plans:
        if expires(old) + _KEPT_S < now:
            path.unlink()
    last = max(plans, key=lambda each: each[1]['created_at'], default=None)
    if last is not None and now < expires(last[1]) and (
            steps(last[1]) == steps(doc)):
        return last[1]
    store.write_plan(there / f'{doc["id"]}.json', doc)
    return doc


def find(directory: str | os.PathLike[str], named: str) -> dict[str, Any]:
    """The plan of this file, or of this id in the directory of plans.

    :raises InputError: where there is none, or it is no plan
    """
    for path in (pathlib.Path(named),
                 pathlib.Path(directory, f'{pathlib.Path(named).name}.json')):
        if path.is_file():
            return store.read_plan(path)
    raise errors.InputError(
        f'There is no plan {named}, neither as a file nor by this id in '
        f'{directory}.')


def expires(doc: Mapping[str, Any]) -> float:
    """When a plan expires, seconds of the epoch."""
    try:
        at = datetime.datetime.fromisoformat(doc['expires_at'])
    except ValueError:
        raise errors.FormatError(
            f'Plan {doc["id"]} expires at {doc["expires_at"]!r}, which is no '
            'time; make the plan again.') from None
    return (at if at.tzinfo else at.replace(
        tzinfo=datetime.UTC)).timestamp()


def steps(doc: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """(volume, source, target) of each move."""
    return [(move['volume'], move['from'], move['to'])
            for move in doc['moves']]


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
