# SPDX-License-Identifier: Apache-2.0
"""serifos-balancer plan: what would be moved, and why; nothing is."""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
import pathlib
import sys
from typing import Any
import uuid

from cliff import command
from oslo_config import cfg

from serifos import cluster as cl
from serifos.cmd import app
from serifos import errors
from serifos.model import fleet
from serifos.model import model as mm
from serifos.plan import bfd
from serifos.plan import limits as lm
from serifos.plan import plan as pl
from serifos.plan import relieve
from serifos.plan import text
from serifos import store

PLANNERS = {'bfd': bfd.plan, 'relieve': relieve.plan}


class Plan(app.Fails, command.Command):
    """Plan the moves that level latency over the pools of a cluster.

    Nothing is moved, and nothing is written but what --out names.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--cluster', metavar='FILE', help='the observation to plan for '
            '(default: cluster.json in [serifos] state_dir)')
        parser.add_argument(
            '--models', metavar='DIR', help='directory of the latency models '
            '(default: [serifos] models_dir)')
        parser.add_argument('--planner', choices=tuple(PLANNERS),
                            help='(default: [balancer] planner)')
        parser.add_argument(
            '--max-moves', type=int, metavar='N', help='moves that the plan '
            'may hold (default: [balancer] max_moves)')
        parser.add_argument(
            '--min-gain', type=float, metavar='FRACTION',
            help='by how much a move must lower the worst latency or the '
                 'variance; 0.05 is 5 %% (default: [balancer] min_gain)')
        parser.add_argument(
            '--active-floor', type=float, metavar='Q',
            help='outstanding I/Os below which a volume is idle (default: '
                 '[balancer] active_floor)')
        parser.add_argument(
            '-f', '--format', choices=('table', 'json'), default='table',
            help='json is a serifos-plan/1 document (default: table)')
        parser.add_argument('--out', metavar='FILE',
                            help='write the plan there, too')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        conf = self.app.conf
        limits = _limits(parsed_args, conf)
        planner = PLANNERS[parsed_args.planner or conf.balancer.planner]
        cluster = store.read_cluster(
            parsed_args.cluster
            or pathlib.Path(conf.serifos.state_dir, 'cluster.json'))
        models = _models(
            cluster, parsed_args.models or conf.serifos.models_dir)
        known = fleet.Fleet([models.get(pool.model or '')
                             for pool in cluster.pools], limits.active_floor)
        plan = planner(cluster, known.load, known.latency, limits)
        doc = _document(plan, conf.balancer.plan_ttl)
        if parsed_args.out:
            store.write_plan(parsed_args.out, doc)
        print(json.dumps(doc, indent=1, allow_nan=False)
              if parsed_args.format == 'json' else text.table(plan),
              end='\n' if parsed_args.format == 'json' else '')


def _limits(parsed_args: argparse.Namespace,
            conf: cfg.ConfigOpts) -> lm.Limits:
    given = {field.name: getattr(parsed_args, field.name)
             for field in dataclasses.fields(lm.Limits)}
    limits = lm.Limits(**{
        name: conf.balancer[name] if value is None else value
        for name, value in given.items()})
    if not 0 <= limits.min_gain <= 1:
        raise errors.InputError(
            f'A min_gain of {limits.min_gain:g} cannot be used; give a '
            'fraction from 0 to 1, such as 0.05.')
    if limits.max_moves is not None and limits.max_moves < 1:
        raise errors.InputError(
            f'A plan of at most {limits.max_moves} moves cannot be made; '
            'give a max_moves of 1 or more.')
    if not 0 <= limits.active_floor < float('inf'):
        raise errors.InputError(
            f'An active_floor of {limits.active_floor:g} cannot be used; '
            'give outstanding I/Os, such as 0.05.')
    return limits


def _models(cluster: cl.Cluster, directory: str) -> dict[str, mm.Model]:
    """The models that the pools name, those without a file left out."""
    if not pathlib.Path(directory).is_dir():
        raise errors.InputError(
            f'There is no directory of models {directory}; name it with '
            '--models.')
    models = {}
    for stem in sorted({pool.model for pool in cluster.pools if pool.model}):
        if pathlib.PurePath(stem).name != stem or not stem.isprintable():
            raise errors.InputError(
                f'A pool names the model {stem!r}; a model is named by its '
                'file in the models directory, without .json.')
        path = pathlib.Path(directory, f'{stem}.json')
        if not path.exists():
            print(f'serifos-balancer: there is no model {path}; its pools '
                  'are left out of the plan.', file=sys.stderr)
            continue
        models[stem] = store.read_model(path)
        if not models[stem].predicts.endswith('_us'):
            raise errors.InputError(
                f'{path} predicts {models[stem].predicts}; a plan needs '
                'models of latency, in µs.')
    return models


def _document(plan: pl.Plan, ttl_s: int) -> dict[str, Any]:
    now = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    created, expires = (
        (now + datetime.timedelta(seconds=s)).isoformat().replace(
            '+00:00', 'Z') for s in (0, ttl_s))
    return plan.to_json(str(uuid.uuid4()), created, expires)
