# SPDX-License-Identifier: Apache-2.0
"""[cinder]: how serifos-balancer reaches Cinder, by keystoneauth."""

from keystoneauth1 import loading
from oslo_config import cfg

GROUP = cfg.OptGroup('cinder', title='How serifos-balancer reaches Cinder')


def _ours(opt: cfg.Opt) -> cfg.Opt:
    """An option of keystoneauth; a URL may hold a password."""
    opt.secret = opt.secret or opt.name == 'endpoint-override'
    return opt


OPTS = [
    *loading.get_auth_common_conf_options(),
    *(_ours(opt) for opt in loading.get_session_conf_options()
      if opt.name != 'timeout'),
    cfg.FloatOpt(
        'timeout', min=0.1, max=3600.0,
        help='Seconds until an answer has to be complete, a token and '
             'retries included. Unset: 60.'),
    *(_ours(opt) for opt in loading.get_adapter_conf_options(
        include_deprecated=False)
      if opt.name in ('region-name', 'valid-interfaces',
                      'endpoint-override')),
    cfg.StrOpt(
        'noauth_endpoint', secret=True,
        help='URL of a Cinder without Keystone (auth_strategy = noauth), '
             'such as http://10.0.0.1:8776/v3; auth_type stays unset.'),
    cfg.StrOpt(
        'noauth_project_id', default='0' * 32,
        help='The project to ask such a Cinder as.'),
]

LATE_OPTS = loading.get_auth_plugin_conf_options('password')
"""What keystoneauth registers once it knows the auth_type."""
