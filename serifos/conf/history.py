# SPDX-License-Identifier: Apache-2.0
"""[history]: where it is kept what volumes did, and for how long."""

from oslo_config import cfg

GROUP = cfg.OptGroup('history', title='What volumes did over days and weeks')

OPTS = [
    cfg.StrOpt(
        'connection', secret=True,
        help='The database of the history, a URL of SQLAlchemy such as '
             'mysql+pymysql://USER:PASSWORD@HOST/DATABASE or '
             'postgresql+psycopg2://USER:PASSWORD@HOST/DATABASE; it may be '
             'that of the journal. Its other settings are those of '
             '[database]. Unset: history.sqlite in [serifos] state_dir, '
             'which every balancer has for itself. With [telemetry] source '
             '= prometheus or gnocchi nothing of volumes is kept: they have '
             'it. How far pools are from their models, and with [balancer] '
             'capacity_horizon their space, is kept in any case.'),
    cfg.IntOpt(
        'hours_of_minutes', default=6, min=1, max=24 * 7,
        help='Hours for which what volumes did is kept minute by minute.'),
    cfg.IntOpt(
        'days_of_five_minutes', default=8, min=1, max=366,
        help='Days for which it is kept in slots of five minutes.'),
    cfg.IntOpt(
        'weeks_of_hours', default=8, min=1, max=520,
        help='Weeks for which it is kept in slots of an hour.'),
]
