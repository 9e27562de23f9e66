# SPDX-License-Identifier: Apache-2.0
"""[balancer]: how plans are made."""

from oslo_config import cfg

GROUP = cfg.OptGroup('balancer', title='How plans are made')

OPTS = [
    cfg.StrOpt(
        'planner', default='relieve', choices=[
            ('bfd', 'best fit decreasing over all volumes, the way of the '
                    'Serifos paper; no limit of moves unless max_moves '
                    'says one'),
            ('relieve', 'a few moves off the slowest pools, each the one '
                        'that relieves the cluster most')],
        help='The planner.'),
    cfg.FloatOpt(
        'min_gain', default=0.05, min=0.0, max=1.0,
        help='A move must lower the worst predicted latency by this '
             'fraction, or leave it and lower the variance over the pools '
             'by this fraction.'),
    cfg.IntOpt(
        'max_moves', min=1,
        help='Moves that a plan may hold. Unset: 4 for relieve, no limit '
             'for bfd.'),
    cfg.FloatOpt(
        'active_floor', default=0.05, min=0.0,
        help='Outstanding I/Os below which a volume is idle and counts as '
             'no load at all.'),
    cfg.IntOpt(
        'plan_ttl', default=86400, min=1,
        help='Seconds after which a plan expires.'),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    conf.register_group(GROUP)
    conf.register_opts(OPTS, group=GROUP)
