# SPDX-License-Identifier: Apache-2.0
"""[serifos] in cinder.conf: options of the weigher, driver and filter.

These options are cinder-scheduler's; serifos.conf has none of them.
``state_dir`` and ``models_dir`` of the same group mean the same in both.
"""

import math
from typing import Any

from oslo_config import cfg
from oslo_config import types

from serifos.conf import serifos
from serifos.conf import values
from serifos import errors

GROUP = serifos.GROUP

CLUSTER_MAX_AGE_S = 1800


class Figure(types.Float):
    """A finite number: NaN passes every comparison with a bound.

    Left empty, oslo.config's own type makes None of it.
    """

    def __call__(self, value: object) -> float:
        number = super().__call__(value)
        if number is None:
            raise ValueError(f'it {values.EMPTY}')
        if not math.isfinite(number):
            raise ValueError(f'{value} is not a finite number')
        return number


OPTS = [
    cfg.Opt(
        'cluster_max_age', type=Figure(min=1, max=1e9),
        default=CLUSTER_MAX_AGE_S,
        help='Seconds after which pools.json is stale: Serifos then ranks '
             'no pools until it is written again. Set it to at least twice '
             '[balancer] interval of serifos.conf; longer ranks by older '
             'load.'),
    cfg.Opt(
        'newcomer_write_pct', type=Figure(min=0, max=100), default=30,
        help='Writes, in percent of the requests, expected of a new volume if '
             'neither a scheduler hint, nor its volume type, nor active '
             'volumes of that type tell more. Set the newcomer options to a '
             'typical volume of your cloud.'),
    cfg.Opt(
        'newcomer_block_kib', type=Figure(min=0.5, max=65536), default=16,
        help='Mean request size, in KiB, expected of such a volume.'),
    cfg.Opt(
        'newcomer_iodepth', type=Figure(min=0.05, max=65536), default=8,
        help='Outstanding requests expected of such a volume. Higher spreads '
             'new volumes more.'),
    cfg.BoolOpt(
        'newcomer_hints', default=True,
        help='Whether scheduler hints are used. Any tenant may give them, and '
             'the expected load of a volume counts until it is observed: set '
             'to false if tenants are not trusted.'),
    cfg.Opt(
        'reservation_ttl', type=Figure(min=0, max=1e9), default=3600,
        help='Seconds for which a new volume counts with its expected load, '
             'unless it is observed active before. Too short, a burst of new '
             'volumes goes to one pool.'),
    cfg.StrOpt(
        'metrics_dir', metavar='DIRECTORY',
        help="Directory of node_exporter's textfile collector, into which "
             'each cinder-scheduler writes its metrics as '
             'serifos-scheduler-PID.prom, every 15 seconds in which there are '
             "requests. It must exist and be writable for Cinder's user. "
             'Unset: nothing is counted.'),
    cfg.Opt(
        'weight_multiplier', type=Figure(min=0, max=1e9), default=1,
        help='Multiplier of SerifosWeigher besides other weighers. Higher '
             'lets latency decide more often against free capacity; 0 turns '
             'the weigher off.'),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """All of [serifos], on Cinder's own configuration."""
    values.register(conf, GROUP, [*serifos.OPTS, *OPTS])


_DEFAULTS = {opt.dest: opt.default for opt in (*serifos.OPTS, *OPTS)}


def read(conf: cfg.ConfigOpts, name: str) -> Any:
    """The value of an option of [serifos].

    :raises InputError: where it cannot be used
    """
    why = values.unusable(conf.serifos, name, _DEFAULTS[name])
    if why is not None:
        raise errors.InputError(f'cinder.conf: [serifos] {name} {why}.')
    return conf.serifos[name]


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    """For oslo-config-generator --namespace serifos.scheduler."""
    return [(GROUP, [*serifos.OPTS, *OPTS])]
