# SPDX-License-Identifier: Apache-2.0
"""serifos-model learn: a model fitted to what tenants' volumes saw."""

from __future__ import annotations

import argparse
import pathlib
import time
from typing import Any

from cliff import show
from oslo_config import cfg

from serifos.cmd import app
from serifos.cmd import options
from serifos.cmd import output
from serifos import errors
from serifos.facts import activity
from serifos.facts.cluster import Cluster
from serifos.facts.dataset import Dataset
from serifos.facts.dataset import Header
from serifos.facts import fields
from serifos.facts import space
from serifos.files import atomic
from serifos.files import documents
from serifos.model import kinds
from serifos.model.model import Model
from serifos.model import verdict


class Learn(app.Fails, show.ShowOne):
    """Fit a model to live observations, without touching a disk.

    What volumes did is read from the history ([history], Prometheus or
    Gnocchi), of the pools whose model this is; the volumes are those of the
    last observation. A model that is fitted to the older two thirds of the
    slots is held against the newest third, beside the model as it is, or,
    where there is none yet, beside what devices measured before would do: exit
    1 where it is not better. Only --output writes anything, and only a better
    one, fitted to all slots.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'model', metavar='MODEL', help='NAME of [serifos] models_dir, or '
            'a file NAME.json, which need not be there yet; pools that name '
            'NAME are read')
        parser.add_argument(
            '--observations', metavar='DATASET', help='runs in the order of '
            'time, NAME.jsonl, in place of the history')
        parser.add_argument(
            '--cluster', metavar='FILE', help='the observation of the '
            'volumes and their pools (default: cluster.json in [serifos] '
            'state_dir)')
        parser.add_argument('--days', type=float, default=7.0,
                            help='days of history, back from now (default: 7)')
        parser.add_argument('--step', type=int, metavar='SECONDS',
                            help='length of a slot (default: 3600; 60 for '
                            'less than 0.25 days, 300 for less than a day)')
        parser.add_argument(
            '--kind', choices=('auto', *kinds.names()),
            help='kind of the model (default: as it is, else tenant)')
        options.add_seed(parser, 'the cross-validation')
        parser.add_argument('--output', metavar='FILE',
                            help='write the model here if it is better')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        from serifos.model import live
        fields.refuse_outside('--seed', parsed_args.seed, 0)
        if parsed_args.output:
            atomic.refuse_unwritable(parsed_args.output, 'model')
        path = pathlib.Path(parsed_args.model)
        if path.suffix != '.json':
            path = pathlib.Path(
                self.app.conf.serifos.models_dir, f'{path.name}.json')
        before = documents.read_model(path) if path.exists() else None
        found = live.learned(
            before, documents.read_dataset(parsed_args.observations)
            if parsed_args.observations
            else self._observed(parsed_args, path.stem, before),
            path.stem, parsed_args.kind, parsed_args.seed)
        if not found.better:
            self.exit_code = 1
        elif parsed_args.output:
            documents.write_model(parsed_args.output, found.model)
        return zip(*{
            'runs': found.runs[0], 'held_out_runs': found.runs[1],
            'before': ('this model' if before
                       else 'none: devices measured before'),
            'mre': output.percent(found.error[0]),
            'learned_mre': output.percent(found.error[1]),
            'better': found.better,
            'verdict': verdict.headline(found.error[1], sum(found.runs)),
            'predicts_times': output.Cell([*found.ratio], ', '.join(
                f'{ratio:.3g}' for ratio in found.ratio)),
            'range': output.ranges(before.range if before else {}),
            'learned_range': output.ranges(found.model.range),
            'written': parsed_args.output if (
                found.better and parsed_args.output) else None}.items())

    def _observed(self, parsed_args: argparse.Namespace, stem: str,
                  before: Model | None) -> Dataset:
        """The live runs of the pools that name the model."""
        from serifos.cmd.balancer import configuration
        from serifos.cmd.balancer import stored_history
        from serifos.model import live
        conf, days, step = self.app.conf, parsed_args.days, parsed_args.step
        if step is None:
            step = 60 if days < 0.25 else 300 if days < 1 else 3600
        if not 0 < 86400 * days <= 366 * 86400 or not (
                0 < step <= 86400 * days):
            raise errors.InputError(
                f'{days:g} days in slots of {step} s cannot be read; give up '
                'to 366 days, in shorter slots.')
        cluster = configuration.cluster(conf, parsed_args.cluster)
        pools = _pools(cluster, stem, conf)
        if not pools:
            raise errors.InputError(
                f'The cluster has no pool with volumes that names the model '
                f'{stem}; the name of the file is that of the model.')
        now = time.time()
        past = stored_history.Past.of(conf).history
        home = {volume.id: volume.pool for volume in cluster.volumes}
        series = past.read(
            [activity.MeasuredVolume(volume, volume, home[volume])
             for pool in pools for volume in pool.volumes],
            now - 86400 * days, now, step)
        return Dataset(
            Header(dict(before and before.device or {})),
            tuple(live.runs(series, pools, conf.balancer.active_floor)))


def _pools(cluster: Cluster, stem: str, conf: cfg.ConfigOpts) -> list[Any]:
    """The devices of the pools that name the model, since the last moves."""
    from serifos.cmd.balancer import databases
    from serifos.database import journal
    from serifos.model import live
    moved: dict[str, float] = {}
    for move in space.moved(journal.Journal(
            databases.database(conf), time.time).entries()):
        for pool in move.source, move.target:
            moved[pool] = max(move.at, moved.get(pool, 0.0))
    devices: dict[str, list[str]] = {}
    for pool in cluster.pools:
        devices.setdefault(pool.device_key, []).append(pool.name)
    named = {pool.device_key for pool in cluster.pools if pool.model == stem}
    found = [live.Pool(
        [volume.id for volume in cluster.volumes
         if volume.pool in devices[device]],
        max(moved.get(name, 0.0) for name in devices[device]))
        for device in sorted(named)]
    return [pool for pool in found if pool.volumes]
