# SPDX-License-Identifier: Apache-2.0
"""[balancer]: how plans are made and carried out."""

from oslo_config import cfg
from oslo_config import types

from serifos import plugins

GROUP = cfg.OptGroup('balancer', title='How plans are made and carried out')

_WEEK_S = 7 * 86400
_MONTH_S = 30 * 86400
_TEN_YEARS_S = 3650 * 86400

GIB_PER_DAY = 1024.0
"""That mode auto moves at most where max_gib_per_day is unset."""

ACTIVE_FLOOR = cfg.FloatOpt(
    'active_floor', default=0.05, min=0.0, max=65536.0,
    help='Outstanding I/Os below which a volume is idle and counts as no '
         'load.')

PLANNERS = plugins.choices({
    'bfd': 'best fit decreasing over all volumes, as in the Serifos paper; '
           'any number of moves unless max_moves is set',
    'relieve': 'SLOs first, then pools that fill up by '
               'themselves, then pools that are hot'},
    plugins.PLANNERS)
"""(name, help) of each planner."""

OPTS = [
    cfg.StrOpt('planner', default='relieve', choices=PLANNERS,
               help='The planner.'),
    cfg.FloatOpt(
        'min_gain', default=0.1, min=0.0, max=1.0,
        help='A move must lower the latency that the slower of its two pools '
             'shows by this fraction; on a pool of more than 2 / min_gain '
             'active volumes several moves may do so together. Extra spec '
             'serifos:min_gain of a volume type goes before it.'),
    cfg.FloatOpt(
        'hot_ratio', default=0.25, min=0.0, max=100.0,
        help='How far, as a fraction, the predicted latency of a pool lies '
             'above the mean of the pools that its volumes may live on for '
             'it to be hot. Volumes are moved off hot pools only. Capability '
             'serifos_hot_ratio of a backend goes before it.'),
    cfg.IntOpt(
        'window', default=86400, min=0, max=28 * 86400,
        help='Seconds of its history that a volume is planned by in '
             'serifos-balancer run; until that reaches back for nine tenths '
             'of them, by what it does at present, in [telemetry] window. 0: '
             'only by the present, which moves volumes for what lasts '
             'minutes.'),
    cfg.StrOpt(
        'hot_by', default='busy', choices=[
            ('busy', 'how busy they are: the requests per second that their '
                     'volumes ask for, by those that their models allow; '
                     'without window as latency'),
            ('latency', 'what is predicted that tenants see, by the '
                        'outstanding I/Os that their volumes had'),
            ('read_p99', 'the 99th percentile of reads that is predicted, '
                         'likewise; of models fitted with --tails'),
            ('write_p99', 'the same of writes')],
        help='Figure that decides which pools are hot. How many requests a '
             'volume asks for is the same wherever it lives; how many of '
             'them are outstanding is not.'),
    cfg.IntOpt(
        'demand_slots', default=24, min=1, max=288,
        help='Parts of a day, in each of which pools are predicted; pools '
             'are compared by the mean over these. Longer windows are '
             'averaged by the time of day. Fewer parts make planning '
             'faster.'),
    cfg.BoolOpt(
        'mend_at_once', default=True,
        help='With window: whether an SLO that is violated at present, for '
             'hold rounds, is restored at once. If false, only one that is '
             'violated by what volumes are planned as.'),
    cfg.IntOpt(
        'hold', default=3, min=1, max=1000,
        help='Rounds of serifos-balancer run in a row that a pool must be '
             'hot for, or have a violated SLO, before a volume '
             'leaves it; its load is the mean over so many observations.'),
    cfg.IntOpt(
        'max_moves', min=1, max=1000000,
        help='Moves of a plan, where there are up to 20 pools; moves off '
             'each pool of a plan, where there are more. Unset: 4 where '
             'there are up to 20, else no limit, and none for bfd. Several '
             'moves off a pool of many volumes that reach min_gain only '
             'together count as one, and so do those of volumes that are to '
             'share a pool; batch and parallel count volumes.'),
    cfg.FloatOpt(
        'max_gib_per_plan', min=0.001, max=1e9,
        help='GiB that the moves of a plan copy at most; what is left is for '
             'the next plan. Those of evacuate and undo are not counted. '
             'Unset: no limit.'),
    ACTIVE_FLOOR,
    cfg.IntOpt(
        'plan_ttl', default=86400, min=1, max=_TEN_YEARS_S,
        help='Seconds after which a plan expires.'),
    cfg.StrOpt(
        'mode', default='advise', choices=[
            ('advise', 'plans are written, nothing moves'),
            ('approve', 'a plan is carried out once serifos-balancer approve '
             'said so'),
            ('auto', 'the first moves of each plan are carried out')],
        help='What serifos-balancer run does with its plans.'),
    cfg.IntOpt(
        'interval', default=300, min=1, max=_WEEK_S,
        help='Seconds from one observation to the next.'),
    cfg.IntOpt(
        'batch', default=2, min=1, max=1000,
        help='Volumes that are moved before everything is observed again, '
             'where there are up to 20 pools; volumes from and to each pool, '
             'where there are more. Volumes that are to share a pool count '
             'each: they move in one round, alone where they are more than '
             'this.'),
    cfg.IntOpt(
        'parallel', default=4, min=1, max=1000,
        help='Volumes that are moved at the same time, in mode auto. No '
             'two of their moves share a pool, or a device that pools '
             'share.'),
    cfg.IntOpt(
        'settle', min=0, max=_MONTH_S,
        help='Seconds after a migration before the next plan is carried '
             'out: until then the figures still show the time before it, '
             'and the copying. Unset: [telemetry] window.'),
    cfg.IntOpt(
        'cool_down', default=604800, min=0, max=_TEN_YEARS_S,
        help='Seconds for which a volume that was moved stays where it is.'),
    cfg.IntOpt(
        'back_off', default=3600, min=0, max=86400,
        help='Seconds for which a volume is left alone after a migration of '
             'it failed; doubled with each failure in a row, up to a day.'),
    cfg.IntOpt(
        'max_failures', default=3, min=1, max=1000,
        help='Failed migrations in a row after which the balancer pauses, '
             'until serifos-balancer resume.'),
    cfg.BoolOpt(
        'auto_recover', default=True,
        help='Whether mode auto itself recovers a migration that it asked '
             'for and Cinder has forgotten, where two rounds find that '
             'only Cinder\'s API is needed. It never deletes a copy that '
             'serifos-balancer recover would keep. If false, a person runs '
             'that.'),
    cfg.IntOpt(
        'migration_timeout', default=600, min=1, max=_MONTH_S,
        help='Seconds that a migration may take beside its copying.'),
    cfg.IntOpt(
        'migration_timeout_per_gib', default=120, min=0, max=86400,
        help='Seconds that each GiB of a volume may take to be copied, and '
             'to be wiped on the source; at least four times what it takes '
             'at volume_copy_bps_limit.'),
    cfg.IntOpt(
        'poll_interval', default=5, min=1, max=3600,
        help='Seconds between requests to Cinder while it migrates.'),
    cfg.BoolOpt(
        'allow_attached',
        help='Whether volumes in use may be moved. Cinder has Nova copy '
             'them, and a thin volume may come back thick. Unset: where '
             'there is a Nova to ask what it would refuse, see [nova].'),
    cfg.BoolOpt(
        'balance', default=True,
        help='Whether volumes are moved whose type does not say '
             'serifos:balance. If false, only those whose type says '
             'serifos:balance = true.'),
    cfg.StrOpt(
        'server_volumes', default='any', choices=[
            ('any', 'each volume may live anywhere'),
            ('apart', 'no volume comes to the device of another one of the '
                      'same server; those that share one may part'),
            ('together', 'those that share a pool move together or not at '
                         'all, and the others to only these')],
        help='What is asked of the volumes that one server uses. '
             'serifos:same_pool and serifos:different_pool in the metadata '
             'of volumes go before it.'),
    cfg.IntOpt(
        'horizon', default=86400, min=0, max=_MONTH_S,
        help='Seconds over which a move must pay. One is refused where its '
             'copy costs the tenants of both pools more than the move saves '
             'them in this time: by the outstanding I/Os of each, the '
             'logarithm of its latency, and the seconds. 0: copies are not '
             'priced.'),
    cfg.FloatOpt(
        'max_fill', default=1.0, min=0.01, max=1.0,
        help='The part of a pool\'s space, as a fraction, that no plan fills '
             'beyond, whatever its model says of it. 1: what Cinder would '
             'still place there, its reserved_percentage deducted.'),
    cfg.IntOpt(
        'capacity_horizon', default=0, min=0, max=28 * 86400,
        help='Seconds for which the space of a pool has to be enough for its '
             'own growth; volumes leave a pool that will be full before, and '
             'none comes to one that would be. How fast pools grow is told '
             'by as many seconds of the past, or half of them, by the '
             'database of [history]. 0: growth moves no volume, and is not '
             'recorded.'),
    cfg.FloatOpt(
        'copy_rate', default=100.0, min=0.1, max=1e6,
        help='MiB/s at which volumes are copied, until migrations by '
             'serifos-balancer have shown it.'),
    cfg.IntOpt(
        'volume_copy_bps_limit', default=0, min=0, max=10 ** 15,
        help='The volume_copy_bps_limit that cinder.conf has on the storage '
             'hosts, bytes a second: detached volumes count as copied no '
             'faster, and migrations may take as long as that needs. Cinder '
             'does not tell it. 0: none.'),
    cfg.ListOpt(
        'windows', default=[], item_type=types.String(
            regex='^([01][0-9]|2[0-3]):[0-5][0-9]-([01][0-9]|2[0-3]):[0-5]'
                  '[0-9]$'),
        help='When migrations may begin in mode auto, UTC, as in '
             '22:00-06:00,12:00-13:00. Empty: at any time.'),
    cfg.FloatOpt(
        'max_gib_per_hour', min=0.001, max=1e9,
        help='GiB that may be moved within an hour in mode auto; a larger '
             'volume stays. Unset: no limit.'),
    cfg.FloatOpt(
        'max_gib_per_day', min=0.001, max=1e9,
        help='GiB that may be moved within a day; a larger volume stays. '
             f'Unset: {GIB_PER_DAY:g} in mode auto, else no limit. So many '
             'are copied in three hours at 100 MiB/s: a model that is wrong '
             'costs no more than that of a day before somebody looks.'),
    cfg.ListOpt(
        'excluded_projects', default=[],
        help='Ids of projects whose volumes are never moved.'),
    cfg.StrOpt(
        'lock_url',
        help='URL by which balancers elect the one that acts, of tooz, as '
             'etcd3+http://HOST:2379 or mysql://USER:PASSWORD@HOST/DATABASE. '
             'Unset: a lock file in [serifos] state_dir, for balancers on '
             'one host. With balancers on several hosts, set [database] '
             'connection too.', secret=True),
]
