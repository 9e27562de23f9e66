# SPDX-License-Identifier: Apache-2.0
"""Settings, limits and files that the configuration names."""

from __future__ import annotations

import dataclasses
import os
import pathlib
from typing import Any

from oslo_config import cfg

from serifos.balancer import outcome
from serifos.balancer import pace
from serifos.balancer.settings import BalancerSettings
from serifos.conf import balancer
from serifos.conf import telemetry as options
from serifos import errors
from serifos.facts.cluster import Cluster
from serifos.facts import fields
from serifos.facts import hot_by
from serifos.facts import times
from serifos.files import documents
from serifos.plan import limits
from serifos.plan import slots

_MIB = 1024.0

_KEPT_S, _MOST_KEPT_S = 900, 3600
"""Readings kept at least, for diagnosing migrations; and at most, for the
history of what happened between two rounds."""

_JOURNAL, _HISTORY = 'journal.sqlite', 'history.sqlite'
_STALE_INTERVALS = 3.0
"""Of [balancer] interval, after which an observation is old."""


def settings(conf: cfg.ConfigOpts,
             window_s: float | None = None) -> BalancerSettings:
    """The settings from [serifos], [balancer] and [telemetry].

    :param window_s: in place of [telemetry] window
    :raises InputError: where the window is under 30 s or over a week
    """
    said, bounded = conf.balancer, limits_of(conf)
    if window_s is None:
        window_s = float(conf.telemetry.window)
    if not 30 <= window_s <= options.MOST_WINDOW_S:
        raise errors.InputError(
            f'A window of {window_s:g} s cannot be used; give from 30 s '
            f'to {options.MOST_WINDOW_S} s, a week.')
    return BalancerSettings(
        pathlib.Path(conf.serifos.state_dir),
        pathlib.Path(conf.serifos.models_dir),
        bounded,
        outcome.Timeouts(
            poll_s=said.poll_interval, timeout_s=said.migration_timeout,
            timeout_per_gib_s=max(
                said.migration_timeout_per_gib,
                outcome.PATIENCE * bounded.copying.limited),
            back_off_s=said.back_off),
        pace=pace.Pace(
            tuple(said.windows), said.max_gib_per_hour,
            balancer.GIB_PER_DAY if said.max_gib_per_day is None
            and said.mode == 'auto' else said.max_gib_per_day),
        planner=said.planner, auto=said.mode != 'advise',
        approved_only=said.mode == 'approve', batch=said.batch,
        parallel=said.parallel, hold=said.hold,
        demand=slots.Demand(said.demand_slots, said.hot_by == hot_by.BUSY),
        history_s=float(said.window), fix_at_once=said.fix_at_once,
        interval_s=said.interval, window_s=window_s,
        settle_s=window_s if said.settle is None else said.settle,
        cool_down_s=said.cool_down, plan_ttl_s=said.plan_ttl,
        max_failures=said.max_failures, auto_recover=said.auto_recover,
        allow_attached=said.allow_attached,
        balance=said.balance,
        server_volumes=said.server_volumes,
        excluded_projects=frozenset(said.excluded_projects),
        zones=frozenset(said.zones))


def cluster(conf: cfg.ConfigOpts, path: str | None) -> Cluster:
    """The observation in a file, None for that of the balancer.

    :raises InputError: where it cannot be read
    """
    return documents.read_cluster(path or pathlib.Path(
        conf.serifos.state_dir, 'cluster.json'))


def observed_at(cluster: Cluster | None) -> float | None:
    """When an observation was made, s of the epoch; None if unknown."""
    try:
        return None if cluster is None else times.parse(cluster.observed_at)
    except ValueError:
        return None


def age(conf: cfg.ConfigOpts, cluster: Cluster,
        now: float) -> tuple[float | None, float]:
    """Seconds since an observation, and from how many on it is old.

    :param now: seconds of the epoch
    :returns: None for the first where it is not known
    """
    made_at = observed_at(cluster)
    return (None if made_at is None else now - made_at,
            _STALE_INTERVALS * conf.balancer.interval)


def models_dir(conf: cfg.ConfigOpts, path: str | None) -> str:
    """The directory of the latency models, None for that of [serifos].

    :raises InputError: where there is none
    """
    directory = path or conf.serifos.models_dir
    if not os.path.isdir(directory):
        raise errors.InputError(
            f'There is no directory of models {directory}; name it with '
            '--models.')
    return directory


def limits_of(conf: cfg.ConfigOpts, **given: Any) -> limits.Limits:
    """The limits of plans, from [balancer].

    :param given: those that were given otherwise; None for what was not
    :raises InputError: where one is outside of the bounds of its option
    """
    own = {name: its for name, its in given.items() if its is not None}
    for option in balancer.OPTS:
        if option.dest in own:
            fields.refuse_outside(f'limit {option.dest}', own[option.dest],
                                  option.type.min, option.type.max)
    return dataclasses.replace(_limits_of(conf), **own)


def _limits_of(conf: cfg.ConfigOpts) -> limits.Limits:
    said = conf.balancer
    usual, limit = _MIB / said.copy_rate, said.volume_copy_bps_limit
    return limits.Limits(
        min_gain=said.min_gain, max_moves=said.max_moves,
        max_gib_per_plan=said.max_gib_per_plan,
        active_floor=said.active_floor, copying=limits.Copying(
            detached=usual, attached=usual,
            limited=2 ** 30 / limit if limit else 0.0),
        horizon_s=said.horizon or None, hot_ratio=said.hot_ratio,
        max_fill=said.max_fill,
        capacity_horizon_s=said.capacity_horizon or None,
        hot_by=hot_by.LATENCY if said.hot_by == hot_by.BUSY else said.hot_by)


def lock_url(conf: cfg.ConfigOpts) -> str:
    return conf.balancer.lock_url or f'file://{_in_state_dir(conf, "lock")}'


def lock_directory(conf: cfg.ConfigOpts) -> list[pathlib.Path]:
    """The directory of the lock, where it is a file; else none."""
    scheme, _, path = lock_url(conf).partition('://')
    return [pathlib.Path(path.partition('?')[0])] if scheme == 'file' else []


def kept_s(conf: cfg.ConfigOpts) -> int:
    """Seconds for which readings are kept: two windows, two rounds."""
    return 2 * max(conf.telemetry.window, _KEPT_S,
                   min(conf.balancer.interval, _MOST_KEPT_S))


def journal_url(conf: cfg.ConfigOpts) -> str:
    """Of the database of the journal and the plans."""
    return conf.database.connection or (
        f'sqlite:///{_in_state_dir(conf, _JOURNAL)}')


def history_url(conf: cfg.ConfigOpts) -> str:
    """Of the database of the history."""
    return conf.history.connection or (
        f'sqlite:///{_in_state_dir(conf, _HISTORY)}')


def has_past(conf: cfg.ConfigOpts) -> bool:
    """Whether anything of the past may be kept: journal or history.

    A server may keep some, and so may a source that has a history itself.
    """
    return bool(
        conf.database.connection or conf.history.connection
        or conf.telemetry.source != 'scrape' or any(
            _in_state_dir(conf, file).exists()
            for file in (_JOURNAL, _HISTORY)))


def _in_state_dir(conf: cfg.ConfigOpts, name: str) -> pathlib.Path:
    return pathlib.Path(conf.serifos.state_dir).absolute() / name
