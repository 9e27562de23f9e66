# SPDX-License-Identifier: Apache-2.0
"""Cinder, Nova and telemetry as the configuration names them.

The client of each API and each source is loaded where it is configured: they
take longer to load than a status takes to print.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import os
import ssl
from typing import TYPE_CHECKING

from keystoneauth1 import exceptions
from keystoneauth1 import identity
from keystoneauth1 import loading
from keystoneauth1 import plugin
from keystoneauth1.session import Session
from oslo_config import cfg

from serifos.cmd.balancer import configuration
from serifos.conf import telemetry as options
from serifos import errors
from serifos.facts.activity import Telemetry
from serifos.facts import servers

if TYPE_CHECKING:
    from serifos.cloud import client

_Stopped = Callable[[], bool] | None


def cinder(conf: cfg.ConfigOpts, stopped: _Stopped = None) -> client.Cinder:
    """The client of Cinder, from [cinder].

    :param stopped: whether the program is to stop
    :raises InputError: where that is not enough
    """
    from serifos.cloud import client  # noqa: PLC0415
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
    from serifos.cloud import nova as nova_client  # noqa: PLC0415
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
    asking = _asking(conf, stopped, said.source == 'scrape')
    if said.source == 'prometheus':
        from serifos.telemetry import prometheus  # noqa: PLC0415
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
    from serifos.telemetry import ring as ringfile  # noqa: PLC0415
    from serifos.telemetry import scrape  # noqa: PLC0415
    ring = ringfile.Ring(conf.serifos.state_dir,
                         keep_s=configuration.kept_s(conf))
    return scrape.Scrape(
        asking, said.endpoints, ring, interval_s=said.interval)


def qemu_us(conf: cfg.ConfigOpts, stopped: _Stopped = None
            ) -> Callable[[float], Mapping[str, float]]:
    """Latencies as QEMU sees them over a window; none unless configured."""
    url = conf.telemetry.libvirt_prometheus_url
    if not url:
        return lambda _: {}
    from serifos.telemetry import libvirt  # noqa: PLC0415
    return libvirt.Libvirt(_asking(conf, stopped), url).latency_us


def _asking(conf: cfg.ConfigOpts, stopped: _Stopped,
            exporters: bool = False) -> Session:
    from serifos.telemetry import http  # noqa: PLC0415
    said = conf.telemetry
    return http.session(
        username=said.username if said.auth == 'basic' else None,
        password=said.password,
        auth=_login(conf, 'cinder') if said.auth == 'keystone' else None,
        cafile=said.cafile, certfile=said.certfile, keyfile=said.keyfile,
        insecure=said.insecure, timeout_s=said.timeout, stopped=stopped,
        max_bytes=http.EXPORTER_BYTES if exporters else http.MAX_BYTES)


def keystone(conf: cfg.ConfigOpts, stopped: _Stopped = None,
             group: str = 'cinder') -> Session:
    """A session with a token of Keystone, from [cinder] or [nova].

    :raises InputError: where that is not enough
    """
    from serifos.cloud import client  # noqa: PLC0415
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
