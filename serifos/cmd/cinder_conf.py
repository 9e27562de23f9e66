# SPDX-License-Identifier: Apache-2.0
"""Check the configuration of cinder-scheduler on this host."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import os
import pathlib

from oslo_config import cfg

from serifos.balancer.findings import failure
from serifos.balancer.findings import Finding
from serifos.balancer.findings import note
from serifos.balancer.findings import warning
from serifos.conf import files
from serifos.conf import scheduler
from serifos.conf import values
from serifos import errors
from serifos.facts import phrases
from serifos.files import atomic

OPT = cfg.MultiStrOpt(
    'cinder-conf', default=[], metavar='PATH',
    help='A file, or a directory of *.conf, that cinder-scheduler reads on '
         'this host; give as many as it is started with --config-file and '
         '--config-dir. Unset: where it looks by itself, such as '
         '/etc/cinder/cinder.conf and /etc/cinder/cinder.conf.d.')

DRIVER = 'serifos.scheduler.driver.SerifosScheduler'
WEIGHER = 'SerifosWeigher'

_PROGRAM = 'cinder-scheduler'

_OPTS = [cfg.StrOpt('scheduler_driver', default=''),
         cfg.ListOpt('scheduler_default_weighers', default=[]),
         cfg.StrOpt('state_path', default='/var/lib/cinder')]
"""Of Cinder itself; paths of others often begin with the last one."""


def findings(given: Sequence[str], ours: cfg.ConfigOpts
             ) -> Iterator[Finding]:
    """The faults in the configuration of cinder-scheduler.

    :param given: its files and directories, empty for where it looks
    :param ours: serifos.conf
    :raises InputError: where it cannot be read
    """
    paths = files.paths(given, 'cinder', _PROGRAM)
    if not any(map(os.path.exists, paths)):
        yield note(f'There is no {" or ".join(paths) or "cinder.conf"} on '
                   'this host; run this on the hosts of cinder-scheduler, '
                   'too.')
        return
    name = f'The configuration of {_PROGRAM} ({phrases.several(paths)})'
    conf = _read(name, paths, given)
    faults = [*_faults(conf)]
    yield from map(failure, faults)
    yield from map(warning, files.unknown(
        paths, {scheduler.GROUP.name: [*conf.serifos]}))
    if not faults:
        yield from _differences(name, conf, ours)


def _read(name: str, paths: Sequence[str],
          given: Sequence[str]) -> cfg.ConfigOpts:
    for path in paths:
        atomic.read_text(path, 'configuration', files.MOST_BYTES)
    conf = cfg.ConfigOpts()
    conf.register_opts(_OPTS)
    scheduler.register_opts(conf)
    try:
        conf([f'--config-{"dir" if os.path.isdir(path) else "file"}={path}'
              for path in given], project='cinder', prog=_PROGRAM)
    except RecursionError:
        raise errors.InputError(
            f'{name} cannot be used: an option refers to itself.') from None
    except (cfg.Error, OSError, ValueError) as exc:
        raise errors.InputError(f'{name} cannot be used: {exc}') from None
    for path in paths:
        _register_others(conf, files.sections(path))
    return conf


def _register_others(conf: cfg.ConfigOpts,
                     sections: dict[str, dict[str, list[str]]]) -> None:
    """Registers options that ours may refer to, such as $my_ip."""
    for section, names in sections.items():
        for name in names if section.lower() != scheduler.GROUP.name else ():
            with contextlib.suppress(cfg.Error, ValueError):
                conf.register_opt(cfg.StrOpt(name), group=(
                    None if section == 'DEFAULT' else section))


def _faults(conf: cfg.ConfigOpts) -> Iterator[str]:
    """A sentence for each value of interest that cannot be used."""
    for opt in _OPTS:
        why = values.unusable(conf, opt.dest, opt.default)
        if why is not None:
            yield f'cinder.conf: {opt.dest} {why}.'
    for name in conf.serifos:
        try:
            scheduler.read(conf, name)
        except errors.InputError as exc:
            yield str(exc)


def _differences(name: str, conf: cfg.ConfigOpts,
                 ours: cfg.ConfigOpts) -> Iterator[Finding]:
    driver, weighers = conf.scheduler_driver, conf.scheduler_default_weighers
    if driver != DRIVER and WEIGHER not in weighers:
        yield failure(
            f'{name} names no part of Serifos, and Cinder places without it; '
            f'set scheduler_driver = {DRIVER} there, or add {WEIGHER} to '
            'scheduler_default_weighers, and restart cinder-scheduler.')
    elif driver == DRIVER and WEIGHER in weighers:
        yield warning(
            f'{name} names {WEIGHER} among the weighers that the driver of '
            'Serifos falls back to; take it out there.')
    for option in 'state_dir', 'models_dir':
        said, mine = conf.serifos[option], ours.serifos[option]
        if os.path.realpath(said) != os.path.realpath(mine):
            yield failure(
                f'{name} and serifos.conf have different {option} in '
                f'[serifos], {said} and {mine}; the scheduler looks where '
                'nothing is written.')
    seen = pathlib.Path(ours.serifos.state_dir, 'cluster.json')
    if seen.exists() and not seen.stat().st_mode & 0o044:
        yield failure(
            f'{seen} can be read only by its owner; Cinder\'s user has to '
            f'be able to: chmod g+r {seen}.')
