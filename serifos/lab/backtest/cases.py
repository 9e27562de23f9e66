# SPDX-License-Identifier: Apache-2.0
"""Prepare the replays that a person asks for."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import pathlib

import numpy as np
from oslo_config import cfg

from serifos.balancer import planning
from serifos.balancer.settings import BalancerSettings
from serifos.cmd.balancer import configuration
from serifos import conf
from serifos import errors
from serifos.facts.cluster import Cluster
from serifos.facts.cluster import Volume
from serifos.facts import fields
from serifos.files import documents
from serifos.lab.backtest import csv_history
from serifos.lab.backtest import pools
from serifos.lab.backtest import queues
from serifos.lab.backtest.rates import Demand
from serifos.lab.backtest.rates import Rates
from serifos.lab.backtest import replay
from serifos.lab.sim import ssd
from serifos.model.model import Model
from serifos.plan import capacity

AS_IT_WOULD_BE = ', what if'
INTERVAL_S = 3600
"""Between rounds, unless an option says otherwise."""

_GROUPS = ('balancer', 'telemetry')


@dataclasses.dataclass(frozen=True)
class Asked:
    """The arguments of a backtest.

    :param policies: NAME or NAME:OPTION=VALUE,...
    :param options: OPTION=VALUE or GROUP.OPTION=VALUE, for all policies
    :param cluster: the observation whose pools and places are replayed
    :param scale: what all demands are multiplied by
    :param volume_clear: as in cinder.conf, zero or none
    """

    models_dir: str
    policies: Sequence[str] = (replay.CINDER, 'relieve')
    options: Sequence[str] = ()
    days: float = 7.0
    size_gib: float = 100.0
    slo_ms: float = 10.0
    scale: float = 1.0
    pools: int | None = None
    pool_gib: float | None = None
    cluster: Cluster | None = None
    truth: Sequence[str] = ()
    drift: float = 0.1
    seed: int = 0
    add: Sequence[str] = ()
    remove: Sequence[str] = ()
    other: Sequence[str] = ()
    volume_clear: str = 'zero'
    config_files: Sequence[str] | None = None

    def __post_init__(self) -> None:
        fields.refuse_outside('--days', self.days, 1 / 24, 3660.0)
        fields.refuse_outside('--size-gib', self.size_gib, 1e-3, 1e6, 'GiB')
        fields.refuse_outside('--slo', self.slo_ms, 1e-3, 1e6, 'ms')
        fields.refuse_outside('--scale', self.scale, 1e-3, 1e3)
        fields.refuse_outside('--seed', self.seed, 0)


def made(asked: Asked, history: csv_history.History) -> list[replay.Case]:
    """A case for each policy, and for each on the pools as they would be.

    :raises InputError: where one cannot be
    """
    settings = {text: _settings(text, asked) for text in asked.policies}
    models, broken = documents.latency_models(
        asked.models_dir, documents.model_stems(asked.models_dir))
    if broken or not models:
        raise errors.InputError(next(iter(broken.values()), (
            f'There is no model in {asked.models_dir}; give a directory '
            'with models by --models.')))
    demand = replay.prepared(history.series, asked.days)
    if asked.scale != 1:
        demand = dataclasses.replace(
            demand, values=demand.values * np.float32(asked.scale))
    sizes = {volume: history.size_gib.get(volume, asked.size_gib)
             for volume in demand.volumes}
    chosen = pools.named(asked.truth)
    kinds = pools.of_models(_needed(models, asked), chosen)
    fleet = _fleet(asked, models, demand, sizes, kinds)
    variants = ['']
    if asked.add or asked.remove or asked.other:
        variants.append(AS_IT_WOULD_BE)

    def start(name: str, what: str) -> pools.Fleet:
        found = dataclasses.replace(fleet, home={}) if (
            name == replay.CINDER) else fleet
        return found if not what else pools.changed(
            placed(found, demand, sizes), sorted(models), add=asked.add,
            remove=asked.remove, other=asked.other)

    return [replay.Case(
        name, text + what, demand, sizes, its,
        pools.of_pools(its.pools, kinds, asked.drift, asked.seed),
        settings[text], 1000 * asked.slo_ms, asked.volume_clear != 'none')
        for what in variants for text in asked.policies
        for name in [text.partition(':')[0]] for its in [start(name, what)]]


def placed(fleet: pools.Fleet, demand: Rates,
           size_gib: Mapping[str, float]) -> pools.Fleet:
    """The fleet with the volumes of the first slot placed by free capacity.

    :raises InputError: where there is no room for one
    """
    cluster, home = Cluster(fleet.pools, ()), dict(fleet.home)
    for volume, pool in home.items():
        cluster = cluster.filled(pool, size_gib.get(volume, 0.0))
    there = ~np.isnan(demand.values[:, 0, 0])
    for volume, exists in zip(demand.volumes, there.tolist()):
        if exists and volume not in home:
            pool = capacity.place(
                Volume(volume, '', size_gib[volume]), cluster)
            if pool is None:
                raise errors.InputError(
                    f'No pool has room for volume {volume}; give more pools '
                    'by --pools, or larger ones by --pool-gib.')
            home[volume] = pool
            cluster = cluster.filled(pool, size_gib[volume])
    return pools.Fleet(fleet.pools, home)


def _needed(found: Mapping[str, Model],
            asked: Asked) -> Mapping[str, Model]:
    """The models that pools may have; fitting others would take time."""
    if asked.cluster is None:
        return found
    named = {pool.model for pool in asked.cluster.pools} | {
        text.partition('=')[0] for text in (*asked.add, *asked.other)}
    return {name: model for name, model in found.items() if name in named}


def _fleet(asked: Asked, found: Mapping[str, Model], demand: Rates,
           sizes: Mapping[str, float],
           kinds: Mapping[str, ssd.Ssd]) -> pools.Fleet:
    if asked.cluster is not None:
        return pools.of_cluster(asked.cluster, sorted(found))
    return pools.made(sorted(found), [*sizes.values()],
                      _busy(queues.Devices([*kinds.values()]), demand),
                      asked.pools, asked.pool_gib)


def _busy(devices: queues.Devices, demand: Rates) -> float:
    """How many devices all volumes keep busy, in the mean over both."""
    rates = np.nan_to_num(demand.values[..., :4]).mean(axis=1).astype(float)
    own = Demand.of(np.repeat(rates, len(devices), axis=0))
    busy = devices.busy(
        np.tile(np.arange(len(devices)), len(rates)), own).max(axis=1)
    return float(busy.sum()) / len(devices)


def _settings(policy: str, asked: Asked) -> BalancerSettings:
    """The balancer's settings under a policy, and those for all."""
    name, _, own = policy.partition(':')
    if name not in (replay.CINDER, replay.STAY, *planning.PLANNERS):
        planning.installed(name)
    options = conf.load(asked.config_files)
    texts = [*asked.options, *filter(None, own.split(','))]
    given = dict(_option(text, options) for text in texts)
    given.setdefault(('balancer', 'interval'), str(INTERVAL_S))
    for (group, option), value in given.items():
        try:
            options.set_override(option, value, group)
        except (ValueError, TypeError) as exc:
            raise errors.InputError(
                f'The option {option} cannot be {value}: '
                f'{errors.one_line(str(exc)).rstrip(".")}.') from None
    return dataclasses.replace(
        configuration.settings(options),
        models_dir=pathlib.Path(asked.models_dir))


def _option(text: str, options: cfg.ConfigOpts
            ) -> tuple[tuple[str, str], str]:
    """((group, name), value) of OPTION=VALUE or GROUP.OPTION=VALUE."""
    name, equals, value = text.partition('=')
    group, dot, option = name.rpartition('.')
    for each in (group,) if dot else _GROUPS:
        if equals and each in _GROUPS and option in options[each]:
            return (each, option), value
    raise errors.InputError(
        f'{text} sets no option; give NAME=VALUE of [balancer] or '
        '[telemetry], such as hold=6 or window=86400.')
