# SPDX-License-Identifier: Apache-2.0
"""[balancer]: how plans are made and carried out."""

from oslo_config import cfg

from serifos.conf import windows
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
         'load. Raise it if volumes that hardly do anything are moved; too '
         'high, real load is left out of predictions.')

PLANNERS = plugins.choices({
    'bfd': 'best fit decreasing over all volumes, as in the Serifos paper; '
           'any number of moves unless max_moves is set',
    'relieve': 'SLOs first, then pools that fill up by '
               'themselves, then pools that are hot'},
    plugins.PLANNERS)
"""(name, help) of each planner."""

OPTS = [
    cfg.StrOpt('planner', default='relieve', choices=PLANNERS,
               help='The planner. relieve moves few volumes and restores SLOs '
                    'first; bfd assigns all volumes anew, so that it plans '
                    'many more copies.'),
    cfg.FloatOpt(
        'min_gain', default=0.1, min=0.0, max=1.0,
        help='Smallest gain of a move: the fraction by which the latency of '
             'the slower of its two pools must fall. On a pool of more than 2 '
             '/ min_gain active volumes several moves may reach it together. '
             'Raise it to move less; near 0, volumes are copied for gains '
             'smaller than the error of a model. Extra spec serifos:min_gain '
             'of a volume type overrides it.'),
    cfg.FloatOpt(
        'hot_ratio', default=0.25, min=0.0, max=100.0,
        help='A pool is hot if its predicted latency is more than this '
             'fraction above the mean of the pools that its volumes may live '
             'on. Except for SLOs and full pools, volumes leave only hot '
             'pools. Raise it to move less; below the error of the models, '
             'pools that are not slower count as hot. Capability '
             'serifos_hot_ratio of a backend overrides it.'),
    cfg.IntOpt(
        'window', default=86400, min=0, max=28 * 86400,
        help='Seconds of history by which serifos-balancer run plans a '
             'volume. Until the history covers nine tenths of them, it plans '
             'by present activity, that of [telemetry] window. Set it to a '
             'whole period of the load, such as a day or a week. 0: only by '
             'present activity, which moves volumes for loads that last '
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
             'volume asks for is the same on each pool, how many are '
             'outstanding is not: busy is therefore the steadiest. Choose a '
             'percentile where tails matter most; it needs models fitted with '
             '--tails.'),
    cfg.IntOpt(
        'demand_slots', default=24, min=1, max=288,
        help='Parts of a day in which pools are predicted; they are compared '
             'by the mean over these. Longer windows are averaged by the time '
             'of day. Fewer parts make planning faster, and hide shorter '
             'peaks.'),
    cfg.BoolOpt(
        'fix_at_once', default=True, deprecated_name='mend_at_once',
        help='Whether an SLO that is violated at present, for hold rounds, is '
             'restored at once, where there is a window. Set to false to '
             'restore only SLOs that are violated by the history too: fewer '
             'moves, but a tenant waits longer.'),
    cfg.IntOpt(
        'hold', default=3, min=1, max=1000,
        help='Rounds of serifos-balancer run in a row in which a pool must be '
             'hot, or have a violated SLO, before a volume leaves it '
             '(debounce); its load is the mean over as many observations. '
             'Lower it to react faster, and to move for short peaks.'),
    cfg.IntOpt(
        'max_moves', min=1, max=1000000,
        help='Move limit of a plan. Up to 20 pools: moves of the plan; more '
             'pools: moves off each pool. Several moves off a pool of many '
             'volumes that reach min_gain only together count as one, as do '
             'those of volumes that are to share a pool; batch and parallel '
             'count volumes. Unset: 4 up to 20 pools, else no limit, and none '
             'for bfd.'),
    cfg.FloatOpt(
        'max_gib_per_plan', min=0.001, max=1e9,
        help='GiB that the moves of a plan copy at most; the rest is left to '
             'the next plan. Set it where the network or the devices must not '
             'copy for long at a time. Moves of evacuate and undo do not '
             'count. Unset: no limit.'),
    ACTIVE_FLOOR,
    cfg.IntOpt(
        'plan_ttl', default=86400, min=1, max=_TEN_YEARS_S,
        help='Seconds after which a plan expires: it can no longer be applied '
             'or approved. A longer time gives a person more time to approve, '
             'but the plan may no longer fit the load.'),
    cfg.StrOpt(
        'mode', default='advise', choices=[
            ('advise', 'plans are written, nothing moves'),
            ('approve', 'a plan is carried out once serifos-balancer approve '
             'said so'),
            ('auto', 'the first moves of each plan are carried out')],
        help='What serifos-balancer run does with its plans. Start with '
             'advise. auto needs models that fit their devices: see '
             'serifos-status upgrade check.'),
    cfg.IntOpt(
        'interval', default=300, min=1, max=_WEEK_S,
        help='Seconds from one observation to the next. Shorter reacts faster '
             'and asks Cinder more often. Keep it below half of [serifos] '
             'cluster_max_age in cinder.conf, or the scheduler ranks no '
             'pools.'),
    cfg.IntOpt(
        'batch', default=2, min=1, max=1000,
        help='Volumes moved before everything is observed again. Up to 20 '
             'pools: all of a round; more pools: from and to each pool. '
             'Volumes that are to share a pool move in one round even if they '
             'are more than this. Raise it to finish plans sooner; later '
             'moves of a batch then rely on predictions.'),
    cfg.IntOpt(
        'parallel', default=4, min=1, max=1000,
        help='Volumes moved at the same time, in mode auto. No two of their '
             'moves share a pool, or a device that pools share. More finish a '
             'plan sooner and load the network more.'),
    cfg.IntOpt(
        'settle', min=0, max=_MONTH_S,
        help='Seconds after a migration before the next plan is carried out. '
             'Until then measurements still include the copy and the time '
             'before it. Shorter risks plans by such measurements. Unset: '
             '[telemetry] window.'),
    cfg.IntOpt(
        'cool_down', default=604800, min=0, max=_TEN_YEARS_S,
        help='Seconds after a move in which the volume is not moved again. '
             'Shorter follows changing loads more closely; volumes may then '
             'go back and forth.'),
    cfg.IntOpt(
        'back_off', default=3600, min=0, max=86400,
        help='Seconds after a failed migration in which the volume is not '
             'moved; doubled with each failure in a row, up to a day. Lower '
             'it only while testing.'),
    cfg.IntOpt(
        'max_failures', default=3, min=1, max=1000,
        help='Failed migrations in a row after which the balancer pauses, '
             'until serifos-balancer resume. More lets a fault of the cloud '
             'hit more volumes before a person looks.'),
    cfg.BoolOpt(
        'auto_recover', default=True,
        help='Whether mode auto recovers its own migrations that Cinder has '
             "forgotten, if two rounds agree that only Cinder's API is "
             'needed. It never deletes a copy that serifos-balancer recover '
             'would keep. Set to false to have a person run serifos-balancer '
             'recover each time.'),
    cfg.IntOpt(
        'migration_timeout', default=600, min=1, max=_MONTH_S,
        help='Seconds that a migration may take besides copying. Raise it '
             'where Cinder is slow to start migrations; too low, a running '
             'one counts as failed.'),
    cfg.IntOpt(
        'migration_timeout_per_gib', default=120, min=0, max=86400,
        help='Seconds that each GiB of a volume may take to be copied, and to '
             'be wiped on the source; at least four times what '
             'volume_copy_bps_limit needs. Raise it for slow networks or '
             'devices; too low, a running migration counts as failed.'),
    cfg.IntOpt(
        'poll_interval', default=5, min=1, max=3600,
        help='Seconds between requests to Cinder during a migration. Longer '
             'spares the API; the end of a migration is then seen later.'),
    cfg.BoolOpt(
        'allow_attached',
        help='Whether volumes in use may be moved. Cinder has Nova copy them, '
             'and a thin volume may become thick. Unset: only if Nova can be '
             'asked what it would refuse, see [nova]. true moves them even if '
             'no Nova is found; some of these migrations may fail.'),
    cfg.BoolOpt(
        'balance', default=True,
        help='Whether volumes are moved if their type does not set '
             'serifos:balance. Set to false to try serifos on a few types: '
             'only volumes whose type has serifos:balance = true are moved.'),
    cfg.StrOpt(
        'server_volumes', default='any', choices=[
            ('any', 'each volume may live anywhere'),
            ('apart', 'no volume comes to the device of another one of the '
                      'same server; those that share one may part'),
            ('together', 'those that share a pool move together or not at '
                         'all, and the others to only these')],
        help='Affinity rule for the volumes of one server. apart spreads the '
             'load of a server, together keeps its volumes on one failure '
             'domain; both leave fewer moves. serifos:same_pool and '
             'serifos:different_pool in the metadata of volumes override it.'),
    cfg.IntOpt(
        'horizon', default=86400, min=0, max=_MONTH_S,
        help='Seconds over which a move must pay for its copy. A move is '
             'refused if its copy costs the tenants of both pools more than '
             'the move saves them in this time: outstanding I/Os times the '
             'logarithm of latency times seconds. Shorter moves less. 0: '
             'copies are not priced, and large volumes move for small gains.'),
    cfg.FloatOpt(
        'max_fill', default=1.0, min=0.01, max=1.0,
        help="Largest part of a pool's space, as a fraction, that a plan "
             'fills, whatever its model predicts. Lower it to keep space for '
             'snapshots and thin provisioning. 1: what Cinder would still '
             'place there, after reserved_percentage.'),
    cfg.IntOpt(
        'capacity_horizon', default=0, min=0, max=28 * 86400,
        help="Seconds for which a pool's space must be enough for its own "
             'growth: volumes leave a pool that will be full before, and none '
             'moves to one that would be. The growth rate comes from as many '
             'seconds of the past, or half of them, in the database of '
             '[history]. Longer moves volumes earlier, by a less certain '
             'rate. 0: growth moves no volume, and is not recorded.'),
    cfg.FloatOpt(
        'copy_rate', default=100.0, min=0.1, max=1e6,
        help='MiB/s at which volumes are expected to be copied, until '
             'migrations by serifos-balancer have shown the real rate. Set it '
             'to what your network and devices achieve: it decides which '
             'first moves pay.'),
    cfg.IntOpt(
        'volume_copy_bps_limit', default=0, min=0, max=10 ** 15,
        help='volume_copy_bps_limit of cinder.conf on the storage hosts, '
             'bytes per second; Cinder does not report it. Detached volumes '
             'are then expected to be copied no faster, and migrations may '
             'take that long. If it is missing here, slow copies count as '
             'failed. 0: no limit.'),
    cfg.ListOpt(
        'windows', default=[], item_type=windows.Window.parse,
        help='When migrations may begin in modes auto and approve, as in '
             '22:00-06:00,sat-sun 00:00-24:00 or mon-fri 22:00-06:00 '
             'Europe/Berlin. Days are those on which a window begins; '
             'without a time zone it is in UTC. A migration that has begun '
             'may end later. Empty: at any time.'),
    cfg.FloatOpt(
        'max_gib_per_hour', min=0.001, max=1e9,
        help='GiB that may be moved within an hour in mode auto; a larger '
             'volume is not moved. Set it to protect the network. Unset: no '
             'limit.'),
    cfg.FloatOpt(
        'max_gib_per_day', min=0.001, max=1e9,
        help='GiB that may be moved within a day; a larger volume is not '
             'moved. It bounds what a wrong model can cost before a person '
             f'looks. Unset: {GIB_PER_DAY:g} in mode auto, which is three '
             'hours of copying at 100 MiB/s; else no limit.'),
    cfg.ListOpt(
        'excluded_projects', default=[],
        help='Ids of projects whose volumes are never moved. They still count '
             'as load.'),
    cfg.ListOpt(
        'zones', default=[],
        help='Availability zones whose pools and volumes this balancer sees. '
             'Set it in a large cloud to run one balancer a zone: what is '
             'down or being migrated in one then holds no other. Each needs '
             'a [serifos] state_dir, lock_url and databases of its own. '
             'Empty: all zones.'),
    cfg.StrOpt(
        'lock_url',
        help='URL of the tooz backend by which balancers elect the one that '
             'acts, as etcd3+http://HOST:2379 or '
             'mysql://USER:PASSWORD@HOST/DATABASE. Needed for balancers on '
             'several hosts, together with [database] connection: without it '
             'each of them would act. Unset: a lock file in [serifos] '
             'state_dir, for one host.', secret=True),
]
