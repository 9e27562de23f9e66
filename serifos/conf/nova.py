# SPDX-License-Identifier: Apache-2.0
"""[nova]: how serifos-balancer reaches Nova, by keystoneauth."""

from oslo_config import cfg

from serifos.conf import keystone

GROUP = cfg.OptGroup('nova', title=(
    'How serifos-balancer reaches Nova; without an auth_type as Cinder, by '
    'the compute service of the catalogue, in the region and by the interface '
    'of [cinder] unless set here'), help=keystone.LOGIN)

OPTS = [keystone.TIMEOUT]
