# SPDX-License-Identifier: Apache-2.0
"""keystoneauth's options, as each group for an OpenStack API has them."""

from __future__ import annotations

from collections.abc import Iterator

from keystoneauth1 import exceptions
from keystoneauth1 import loading
from oslo_config import cfg

LATE_OPTS = loading.get_auth_plugin_conf_options('password')
"""What keystoneauth registers once it knows the auth_type."""


LOGIN = (
    'The login is keystoneauth\'s: auth_type, auth_url, username, password, '
    'project_name, default_domain_name, and for other ways to log in, a '
    'certificate, a region or an endpoint the options of '
    'https://docs.openstack.org/keystoneauth/latest/plugin-options.html.')

TIMEOUT = cfg.FloatOpt(
    'timeout', min=0.1, max=3600.0,
    help='Seconds until an answer must be complete, token and retries '
         'included. Raise it for a slow API. Unset: 60.')


def options() -> list[cfg.Opt]:
    """The login, the session and the endpoint, as keystoneauth has them."""
    return [
        *loading.get_auth_common_conf_options(),
        *(_ours(opt) for opt in loading.get_session_conf_options()
          if opt.name != 'timeout'),
        *(_ours(opt) for opt in loading.get_adapter_conf_options(
            include_deprecated=False)
          if opt.name in ('region-name', 'valid-interfaces',
                          'endpoint-override'))]


def all_options(auth_type: str | None) -> Iterator[cfg.Opt]:
    """Those that may stand in such a group, also where we do not read them.

    :param auth_type: whose options are among them; those of a password are
        in any case
    """
    yield from loading.get_session_conf_options()
    yield from loading.get_adapter_conf_options()
    yield from LATE_OPTS
    try:
        yield from loading.get_auth_plugin_conf_options(auth_type or 'none')
    except exceptions.NoMatchingPlugin:
        pass  # refused where the login is needed


def _ours(opt: cfg.Opt) -> cfg.Opt:
    """An option of keystoneauth; a URL may hold a password."""
    opt.secret = opt.secret or opt.name == 'endpoint-override'
    return opt
