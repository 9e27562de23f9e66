# SPDX-License-Identifier: Apache-2.0
"""[cinder]: how serifos-balancer reaches Cinder, by keystoneauth."""

from oslo_config import cfg

from serifos.conf import keystone

GROUP = cfg.OptGroup('cinder', title='How serifos-balancer reaches Cinder',
                     help=keystone.LOGIN)

OPTS = [
    keystone.TIMEOUT,
    cfg.StrOpt(
        'noauth_endpoint', secret=True,
        help='URL of a Cinder without Keystone (auth_strategy = noauth), such '
             'as http://10.0.0.1:8776/v3; leave auth_type unset. Only for '
             'trials.'),
    cfg.StrOpt(
        'noauth_project_id', default='0' * 32,
        help='Project in whose name such a Cinder is asked.'),
]
