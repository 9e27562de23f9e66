# SPDX-License-Identifier: Apache-2.0
"""Whether cinder.conf of a scheduler's host names Serifos, and its files."""

from __future__ import annotations

from collections.abc import Iterator
import os
import pathlib

from oslo_config import cfg

from serifos.balancer.ready import findings as fd
from serifos.conf import serifos

OPT = cfg.StrOpt(
    'cinder-conf', default='/etc/cinder/cinder.conf', metavar='FILE',
    help='cinder.conf of cinder-scheduler, where that runs on this host')

DRIVER = 'serifos.scheduler.driver.SerifosScheduler'
WEIGHER = 'SerifosWeigher'

_OPTS = [cfg.StrOpt('scheduler_driver', default=''),
         cfg.ListOpt('scheduler_default_weighers', default=[])]


def findings(path: str, ours: cfg.ConfigOpts) -> Iterator[fd.Finding]:
    """What is wrong in cinder.conf.

    :param ours: serifos.conf
    """
    conf = cfg.ConfigOpts()
    conf.register_opts(_OPTS)
    conf.register_opts(serifos.OPTS, group='serifos')
    try:
        conf([], project='cinder', default_config_files=[path],
             default_config_dirs=[])
    except (cfg.Error, OSError) as exc:
        yield fd.failure(f'{path} cannot be used: {exc}')
        return
    driver, weighers = conf.scheduler_driver, conf.scheduler_default_weighers
    if driver != DRIVER and WEIGHER not in weighers:
        yield fd.failure(
            f'{path} names no part of Serifos, and Cinder places without it; '
            f'set scheduler_driver = {DRIVER} there, or add {WEIGHER} to '
            'scheduler_default_weighers, and restart cinder-scheduler.')
    elif driver == DRIVER and WEIGHER in weighers:
        yield fd.warning(
            f'{path} names {WEIGHER} among the weighers that the driver of '
            'Serifos falls back to; take it out there.')
    for name in 'state_dir', 'models_dir':
        said, mine = conf.serifos[name], ours.serifos[name]
        if os.path.realpath(said) != os.path.realpath(mine):
            yield fd.failure(
                f'{path} and serifos.conf have different {name} in '
                f'[serifos], {said} and {mine}; the scheduler looks where '
                'nothing is written.')
    seen = pathlib.Path(ours.serifos.state_dir, 'cluster.json')
    if seen.exists() and not seen.stat().st_mode & 0o044:
        yield fd.failure(
            f'{seen} can be read by its owner alone; Cinder\'s user has to '
            f'be able to: chmod g+r {seen}.')
