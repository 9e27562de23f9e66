# SPDX-License-Identifier: Apache-2.0
"""[serifos]: where the files are; the same here and in cinder.conf."""

from oslo_config import cfg

GROUP = cfg.OptGroup(
    'serifos', title='Where serifos keeps its files', help=(
        'Beside what is here, [DEFAULT] takes debug, log_file and the other '
        'options of oslo.log, '
        'https://docs.openstack.org/oslo.log/latest/configuration/.'))

OPTS = [
    cfg.StrOpt(
        'state_dir', default='/var/lib/serifos',
        help='Directory of cluster.json, and of the journal and the plans '
             'unless [database] connection is set. It belongs to the group '
             "serifos, of which cinder's user is a member. The same in "
             'serifos.conf and cinder.conf.'),
    cfg.StrOpt(
        'models_dir', default='/var/lib/serifos/models',
        help='Directory of the latency models. A pool finds its model, '
             'NAME.json, by the capability serifos_model of its backend. The '
             'same in serifos.conf and cinder.conf.'),
]
