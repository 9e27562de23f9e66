# SPDX-License-Identifier: Apache-2.0
"""Settings, Cinder, telemetry and database from the configuration."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import os
import pathlib
import ssl
from typing import Any

from keystoneauth1 import exceptions
from keystoneauth1 import identity
from keystoneauth1 import loading
from keystoneauth1 import plugin
from keystoneauth1.session import Session
from oslo_config import cfg

from serifos.balancer import outcome
from serifos.balancer import pace
from serifos.balancer.settings import BalancerSettings
from serifos.cloud import client
from serifos.cloud import nova as nova_client
from serifos.conf import balancer
from serifos.conf import telemetry as options
from serifos.database import connection
from serifos.database.plans import Plans
from serifos import errors
from serifos.facts.activity import Telemetry
from serifos.facts.cluster import Cluster
from serifos.facts import fields
from serifos.facts import hot_by
from serifos.facts import servers
from serifos.facts import times
from serifos.files import documents
from serifos.plan import limits
from serifos.plan import slots
from serifos.telemetry import http
from serifos.telemetry import libvirt
from serifos.telemetry import prometheus
from serifos.telemetry import ring as ringfile
from serifos.telemetry import scrape

_Stopped = Callable[[], bool] | None

_MIB = 1024.0

_KEPT_S, _MOST_KEPT_S = 900, 3600
"""Readings kept at least, for diagnosing migrations; and at most, for the
history of what happened between two rounds."""


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
            pace.windows(said.windows), said.max_gib_per_hour,
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
        excluded_projects=frozenset(said.excluded_projects))


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
    return conf.balancer.lock_url or (
        f'file://{pathlib.Path(conf.serifos.state_dir).absolute()}/lock')


def lock_directory(conf: cfg.ConfigOpts) -> list[pathlib.Path]:
    """The directory of the lock, where it is a file; else none."""
    scheme, _, path = lock_url(conf).partition('://')
    return [pathlib.Path(path.partition('?')[0])] if scheme == 'file' else []


def database(conf: cfg.ConfigOpts) -> connection.Database:
    """The database of the journal, from [database].

    :raises InputError: where its URL is invalid
    """
    url = conf.database.connection or (
        f'sqlite:///{pathlib.Path(conf.serifos.state_dir).absolute()}'
        '/journal.sqlite')
    return connection.Database(url, database_options(conf))


def plans(conf: cfg.ConfigOpts) -> Plans:
    """The plans, in the database of the journal.

    :raises InputError: where its URL is invalid
    """
    return Plans(database(conf))


def database_options(conf: cfg.ConfigOpts) -> dict[str, object]:
    """Those of [database] besides its URL, for oslo.db."""
    return {opt: value for opt, value in conf.database.items()
            if opt != 'connection' and value not in (None, '')}


def cinder(conf: cfg.ConfigOpts, stopped: _Stopped = None) -> client.Cinder:
    """The client of Cinder, from [cinder].

    :param stopped: whether the program is to stop
    :raises InputError: where that is not enough
    """
    if conf.cinder.noauth_endpoint:
        return client.noauth(conf.cinder.noauth_endpoint,
                             conf.cinder.noauth_project_id,
                             stopped=stopped)
    return client.keystone(keystone(conf, stopped), **_endpoint(conf.cinder))


def nova(conf: cfg.ConfigOpts, stopped: _Stopped = None) -> servers.Compute:
    """The client of Nova, from [nova], else by the login of [cinder].

    With the login of [cinder] Nova is that of its region and interface,
    where [nova] does not set others.

    :raises InputError: where a login cannot be used
    """
    endpoint = _endpoint(conf.nova)
    if conf.nova.auth_type:
        return nova_client.Nova(keystone(conf, stopped, 'nova'), **endpoint)
    if conf.cinder.noauth_endpoint:
        return servers.NoCompute(
            '[nova] of serifos.conf has no auth_type, and [cinder] no login')
    for name in 'region_name', 'interface':
        endpoint[name] = endpoint[name] or _endpoint(conf.cinder)[name]
    return nova_client.Nova(keystone(conf, stopped), **endpoint)


def _endpoint(said: cfg.ConfigOpts.GroupAttr) -> dict[str, str | None]:
    return {'region_name': said.region_name,
            'interface': (said.valid_interfaces or [None])[0],
            'endpoint_override': said.endpoint_override}


def telemetry(conf: cfg.ConfigOpts,
              stopped: _Stopped = None) -> Telemetry:
    """The source that [telemetry] names.

    :param stopped: whether the program is to stop
    :raises InputError: where it lacks something
    """
    said = conf.telemetry
    if said.source not in options.SOURCES:
        return options.installed(said.source)(conf, stopped)
    asking = _asking(conf, stopped, http.EXPORTER_BYTES
                     if said.source == 'scrape' else http.MAX_BYTES)
    if said.source == 'prometheus':
        return prometheus.Prometheus(
            asking, said.prometheus_url, label=said.prometheus_label,
            hosts=said.prometheus_hosts, selector=said.prometheus_selector,
            interval_s=said.interval)
    if said.source == 'gnocchi':
        from serifos.telemetry import gnocchi  # noqa: PLC0415
        return gnocchi.Gnocchi(
            asking, said.gnocchi_url,
            lambda: cinder(conf, stopped).attachments(),
            granularity_s=said.gnocchi_granularity)
    ring = ringfile.Ring(conf.serifos.state_dir, keep_s=kept_s(conf))
    return scrape.Scrape(
        asking, said.endpoints, ring, interval_s=said.interval)


def kept_s(conf: cfg.ConfigOpts) -> int:
    """Seconds for which readings are kept: two windows, two rounds."""
    return 2 * max(conf.telemetry.window, _KEPT_S,
                   min(conf.balancer.interval, _MOST_KEPT_S))


def qemu_us(conf: cfg.ConfigOpts, stopped: _Stopped = None
            ) -> Callable[[float], Mapping[str, float]]:
    """Latencies as QEMU sees them over a window; none unless configured."""
    url = conf.telemetry.libvirt_prometheus_url
    if not url:
        return lambda _: {}
    return libvirt.Libvirt(
        _asking(conf, stopped, http.MAX_BYTES), url).latency_us


def _asking(conf: cfg.ConfigOpts, stopped: _Stopped,
            max_bytes: int) -> Session:
    said = conf.telemetry
    return http.session(
        username=said.username if said.auth == 'basic' else None,
        password=said.password,
        auth=_login(conf, 'cinder') if said.auth == 'keystone' else None,
        cafile=said.cafile, certfile=said.certfile, keyfile=said.keyfile,
        insecure=said.insecure, timeout_s=said.timeout, stopped=stopped,
        max_bytes=max_bytes)


def keystone(conf: cfg.ConfigOpts, stopped: _Stopped = None,
             group: str = 'cinder') -> Session:
    """A session with a token of Keystone, from [cinder] or [nova].

    :raises InputError: where that is not enough
    """
    _refuse_unusable_files(conf[group], group)
    try:
        return client.session(conf, group, _login(conf, group), stopped)
    except exceptions.ClientException as exc:
        raise errors.InputError(
            f'[{group}] of serifos.conf cannot be used: {exc}') from None


def _refuse_unusable_files(said: cfg.ConfigOpts.GroupAttr,
                           group: str) -> None:
    """:raises InputError: where TLS cannot use the files of a group"""
    context = ssl.create_default_context()
    name = 'cafile'
    try:
        if said.cafile and not os.path.isdir(said.cafile):
            context.load_verify_locations(said.cafile)
        name = 'certfile'
        if said.certfile:
            context.load_cert_chain(said.certfile, said.keyfile, '')
    except OSError as exc:
        raise errors.InputError(
            f'{name} {said[name]} in [{group}] of serifos.conf cannot be '
            f'used: {exc.strerror or exc}.') from None


def _login(conf: cfg.ConfigOpts, group: str) -> plugin.BaseAuthPlugin:
    try:
        auth = loading.load_auth_from_conf_options(conf, group)
    except (exceptions.ClientException, cfg.Error) as exc:
        raise errors.InputError(
            f'[{group}] of serifos.conf cannot be used: {exc}') from None
    if isinstance(auth, identity.Password) and not conf[group].password:
        raise errors.InputError(
            f'[{group}] of serifos.conf lacks the password of its login.')
    if auth is None:
        raise errors.InputError(
            'serifos.conf does not say how to reach Cinder; set auth_type '
            'and what goes with it in [cinder].')
    return auth
