# SPDX-License-Identifier: Apache-2.0
"""[history]: the database of past activity, and its retention."""

from oslo_config import cfg

GROUP = cfg.OptGroup('history', title='What volumes did over days and weeks')

OPTS = [
    cfg.StrOpt(
        'connection', secret=True,
        help='Database of the history, a URL of SQLAlchemy such as '
             'mysql+pymysql://USER:PASSWORD@HOST/DATABASE or '
             'postgresql+psycopg2://USER:PASSWORD@HOST/DATABASE; it may be '
             'that of the journal, and has its other settings from '
             '[database]. Set it for balancers on several hosts, so that a '
             'new leader knows the past. With [telemetry] source = prometheus '
             'or gnocchi no activity of volumes is kept, only how far pools '
             'are from their models and, with [balancer] capacity_horizon, '
             'their space. Unset: history.sqlite in [serifos] state_dir, one '
             'for each balancer.'),
    cfg.IntOpt(
        'hours_of_minutes', default=6, min=1, max=24 * 7,
        help='Hours for which activity of volumes is kept minute by minute. '
             'More takes more space.'),
    cfg.IntOpt(
        'days_of_five_minutes', default=8, min=1, max=366,
        help='Days for which it is kept in slots of five minutes. More takes '
             'more space.'),
    cfg.IntOpt(
        'weeks_of_hours', default=8, min=1, max=520,
        help='Weeks for which it is kept in slots of an hour.'),
]
