# SPDX-License-Identifier: Apache-2.0
"""serifos-status: check that everything serifos needs is in place."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import functools
import logging
import os
import pathlib
import sys
import time

from oslo_config import cfg
from oslo_upgradecheck import upgradecheck

from serifos.balancer import findings
from serifos.balancer import join
from serifos.balancer.observe import in_flight
from serifos.balancer import planning
from serifos.cmd import app
from serifos.cmd.balancer import adapters
from serifos.cmd.balancer import databases
from serifos.cmd.balancer import stored_history
from serifos import conf as serifos_conf
from serifos.conf import files
from serifos.conf import scheduler
from serifos.conf import values
from serifos.database import journal
from serifos import errors
from serifos.facts.hot_by import TAILS
from serifos.facts.inventory import Inventory
from serifos.facts.journal import pause
from serifos.facts import names
from serifos.facts import phrases
from serifos.facts import settings
from serifos.files import atomic
from serifos.files import documents
from serifos.files import owners
from serifos.model.model import Model
from serifos.report import table

NAME = 'serifos-status'

CINDER_CONF = cfg.MultiStrOpt(
    'cinder-conf', default=[], metavar='PATH',
    help='A file, or a directory of *.conf, that cinder-scheduler reads on '
         'this host; give as many as it is started with --config-file and '
         '--config-dir. Unset: where it looks by itself, such as '
         '/etc/cinder/cinder.conf and /etc/cinder/cinder.conf.d.')

DRIVER = 'serifos.scheduler.driver.SerifosScheduler'
WEIGHER = 'SerifosWeigher'

_PROGRAM = 'cinder-scheduler'

_OBSERVED = ('cluster.json', 'pools.json')
"""The files of an observation, which cinder-scheduler reads."""

_OPTS = [cfg.StrOpt('scheduler_driver', default=''),
         cfg.ListOpt('scheduler_default_weighers', default=[]),
         cfg.StrOpt('state_path', default='/var/lib/cinder')]
"""Of Cinder itself; paths of others often begin with the last one."""


def main(argv: Sequence[str] | None = None) -> int:
    """``serifos-status upgrade check``, with its exit codes.

    0 where all is well, 1 with warnings, 2 with failures, 255 where nothing
    could be looked at.
    """
    arguments = sys.argv[1:] if argv is None else list(argv)
    return app.guarded(NAME, lambda: _main(arguments), failed=255)


def _main(arguments: Sequence[str]) -> int:
    # Findings say what the log would.
    logging.basicConfig(level=logging.CRITICAL)
    conf = serifos_conf.Options(_files(arguments))
    command = Checks()
    conf.register_cli_opt(CINDER_CONF)
    upgradecheck.register_cli_options(conf, command)
    try:
        for path in conf.files():
            atomic.read_text(path, 'configuration', files.MOST_BYTES)
        conf(arguments, project='serifos', prog=NAME)
        serifos_conf.check(conf)
    except (cfg.Error, OSError, ValueError, errors.InputError) as exc:
        print(f'{NAME}: {errors.one_line(str(exc))}', file=sys.stderr)
        return 255
    upgradecheck.CONF = command.conf = conf
    code = int(upgradecheck.run(conf))
    if command.pastes and not conf.command.json:
        print(f'\n{_to_paste(command.pastes)}')
    return code


def _to_paste(pastes: Iterable[findings.Paste]) -> str:
    """The lines that fix findings, by host, file and section."""
    found: dict[tuple[str, str, str], dict[str, list[str]]] = {}
    for each in pastes:
        lines = found.setdefault(
            (each.host, each.file, each.restart), {}).setdefault(
                each.section, [])
        lines += [line for line in each.lines if line not in lines]
    said = ['What is missing, as lines to paste. Replace what is in CAPITALS,',
            'and merge lines with what a section has.']
    for (host, file, restart), sections in found.items():
        said += ['', f'# {file or "in a shell of root"}, on '
                 f'{host or "this host"}'
                 + (f'; then restart {restart}' if restart else '')]
        for section, lines in sections.items():
            said += [f'[{section}]'] * bool(section) + lines
    return '\n'.join(said)


def _files(arguments: Sequence[str]) -> list[str]:
    """The files and directories of serifos.conf that are given."""
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    for name in '--config-file', '--config-dir':
        parser.add_argument(name, action='append', dest='given', default=[])
    try:
        return parser.parse_known_args(arguments)[0].given
    except argparse.ArgumentError:
        return []  # refused when all of them are parsed


_SERIFOS_CONF = '/etc/serifos/serifos.conf'

_LOGIN = ('auth_type = password', 'auth_url = http://CONTROLLER:5000/v3',
          'username = serifos', 'password = PASSWORD',
          'project_name = service', 'default_domain_name = Default')

_USER = ('getent passwd serifos || useradd --system --user-group --home-dir '
         '/var/lib/serifos serifos')

_WIDTH = 72
_MOST = 20
"""Findings of one check that are printed."""

_Check = Callable[['Checks'], Iterable[findings.Finding]]


class Unasked(Exception):
    """A check needs what another one has found to be missing."""


def _result(check: _Check) -> Callable[[Checks], upgradecheck.Result]:
    """The findings of a check as oslo.upgradecheck takes them."""
    @functools.wraps(check)
    def run(self: Checks) -> upgradecheck.Result:
        try:
            found = list(check(self))
        except Unasked as exc:
            found = [findings.warning(f'Not looked at: {exc}')]
        except errors.SerifosError as exc:
            found = [findings.failure(str(exc))]
        self.pastes += [each.paste for each in found if each.paste and (
            each.paste != findings.FIRST or self.is_ready)]
        found.sort(key=lambda finding: -finding.level)
        lines = [finding.text for finding in found[:_MOST]]
        if len(found) > _MOST:
            lines.append(f'... and {len(found) - _MOST} more.')
        return upgradecheck.Result(
            upgradecheck.Code(max((f.level for f in found), default=0)),
            '\n'.join(lines) or None)
    return run


class Checks(upgradecheck.UpgradeCommands):
    """The table of checks; :attr:`conf` is set before they run.

    :ivar pastes: lines that fix what they found
    """

    display_title = 'Is everything in place for Serifos?'
    conf: serifos_conf.Options

    def __init__(self) -> None:
        self.pastes: list[findings.Paste] = []

    def _ours(self, section: str, *lines: str) -> findings.Paste:
        """Lines of serifos.conf."""
        return findings.Paste(
            '', [*self.conf.files(), _SERIFOS_CONF][0], section, lines)

    def _get_details(self, upgrade_check_result: upgradecheck.Result
                     ) -> str | None:
        """A line for each finding, wrapped."""
        said = upgrade_check_result.details
        return said and '\n'.join(
            line for finding in said.splitlines()
            for line in table.wrapped(finding, _WIDTH,
                                      subsequent_indent='  '))

    @property
    def is_ready(self) -> bool:
        """Whether nothing is missing that an observation needs."""
        return not isinstance(self._asked, errors.SerifosError) and not any(
            each.section == 'telemetry' for each in self.pastes)

    @functools.cached_property
    def _asked(self) -> Inventory | errors.SerifosError:
        try:
            return adapters.cinder(self.conf).inventory()
        except errors.SerifosError as exc:
            return exc

    @property
    def _inventory(self) -> Inventory:
        """:raises Unasked: where Cinder did not answer"""
        if isinstance(self._asked, errors.SerifosError):
            raise Unasked('Cinder could not be asked, see there.')
        return self._asked

    @functools.cached_property
    def _used(self) -> dict[str, str]:
        return findings.models_of(self._inventory, documents.model_stems(
            self.conf.serifos.models_dir))

    @functools.cached_property
    def _models(self) -> tuple[dict[str, Model], dict[str, str]]:
        return documents.latency_models(
            self.conf.serifos.models_dir, set(self._used.values()))

    def _state(self) -> Iterator[findings.Finding]:
        directory = pathlib.Path(self.conf.serifos.state_dir)
        if not directory.is_dir():
            yield findings.failure(
                f'There is no directory {directory}; make it, or '
                'set [serifos] state_dir.', findings.Paste('', '', '', (
                    _USER, 'install -d -o serifos -g serifos -m 2750 '
                    f'{directory} {self.conf.serifos.models_dir}')))
            return
        # Root becomes its owner, and sees what the daemon would.
        owners.work_as_owner(directory)
        for name in _OBSERVED:
            why = owners.why_not(directory / name)
            if why is not None:
                yield findings.failure(f'{why}.')
        models = self.conf.serifos.models_dir
        if not os.access(models, os.R_OK | os.X_OK):
            yield findings.failure(
                f'The directory {models} of models is not there, or cannot be '
                'read; make it, or set [serifos] models_dir.')

    def _database(self) -> Iterator[findings.Finding]:
        entries = journal.Journal(
            databases.database(self.conf), time.time).entries()
        paused = pause(entries)
        if paused is not None:
            yield findings.warning(
                f'The balancer is paused since {paused.at}: '
                f'{paused.facts["reason"]}. Look at serifos-balancer history, '
                'then run serifos-balancer resume.')
        if pathlib.Path(self.conf.serifos.state_dir).is_dir():
            missing = databases.journal(self.conf).missing()
            if missing is not None:
                yield findings.warning(
                    f'Nothing will be moved: {missing}. Put the journal back, '
                    'or accept that with serifos-balancer resume.')
        said: list[str] = []
        databases.plans(self.conf).every(said.append)
        yield from map(findings.warning, said)
        stored_history.store(self.conf).until()

    def _cinder(self) -> Iterator[findings.Finding]:
        if isinstance(self._asked, errors.SerifosError):
            said = self.conf.cinder
            yield findings.failure(
                str(self._asked), None if said.auth_type
                or said.auth_section or said.noauth_endpoint
                else self._ours('cinder', *_LOGIN))
            return
        if not self._asked.pools:
            yield findings.failure('Cinder lists no pool.')
        for unread in self._asked.unread:
            yield findings.warning(unread.sentence())
        for sentence in (*settings.faults(self._asked),
                         *in_flight(self._asked)):
            yield findings.warning(sentence)

    def _nova(self) -> Iterator[findings.Finding]:
        if not any(record.attachments for record in self._inventory.records):
            return
        found = adapters.nova(self.conf).servers()
        why = found.problem or found.absent
        if why is not None and self.conf.balancer.allow_attached is not False:
            yield findings.warning(
                'Volumes in use stay where they are: Nova could '
                f'not be asked: {why}.')

    def _clocks(self) -> Iterable[findings.Finding]:
        return findings.services(self._inventory, time.time())

    def _models_of_pools(self) -> Iterator[findings.Finding]:
        yield from findings.models(self._inventory, self._used, *self._models)
        models, hot_by = self._models[0], self.conf.balancer.hot_by
        yield from map(findings.warning,
                       planning.lacking(models, hot_by).values())
        if hot_by in TAILS:
            yield from findings.tails(models, TAILS[hot_by])

    def _devices(self) -> Iterator[findings.Finding]:
        inventory, models = self._inventory, self._models[0]
        yield from findings.devices(inventory, self._used, models)
        found = adapters.telemetry(self.conf).disks(
            {names.host(pool.name) for pool in inventory.pools})
        if found is not None:
            yield from findings.fits(inventory, self._used, models, found)
            yield from findings.unchecked(inventory, self._used, models, found)

    def _telemetry(self) -> Iterator[findings.Finding]:
        inventory = self._inventory
        said = self.conf.telemetry
        missing = {names.host(pool.name) for pool in inventory.pools
                   } - said.endpoints.keys()
        if said.source == 'scrape' and missing:
            # Those that are there may hold passwords.
            self.pastes.append(self._ours(
                'telemetry', 'endpoints = ' + ', '.join(
                    f'{host}:http://{host}:9100/metrics'
                    for host in sorted(missing))))
        source = adapters.telemetry(self.conf)
        if source.readings is not None:
            source.readings.scrape()
        yield from findings.telemetry(source.observe(
            join.places(inventory, {}), float(self.conf.telemetry.window),
            [pool.name for pool in inventory.pools]))

    def _observation(self) -> Iterable[findings.Finding]:
        path = pathlib.Path(self.conf.serifos.state_dir, 'cluster.json')
        return findings.observation(
            documents.read_cluster(path) if path.exists() else None,
            time.time(), scheduler.CLUSTER_MAX_AGE_S)

    def _options(self) -> Iterable[findings.Finding]:
        return map(findings.warning, self.conf.unknown())

    def _scheduler(self) -> Iterable[findings.Finding]:
        return scheduler_findings(self.conf.cinder_conf, self.conf)

    _upgrade_checks = tuple((name, _result(check)) for name, check in (
        ('Options', _options), ('Scheduler', _scheduler),
        ('Directories', _state),
        ('Databases', _database), ('Cinder', _cinder), ('Clocks', _clocks),
        ('Nova', _nova), ('Models', _models_of_pools), ('Devices', _devices),
        ('Telemetry', _telemetry), ('Observation', _observation)))
    # The first two need root's rights, which the third gives up.


def scheduler_findings(given: Sequence[str], ours: cfg.ConfigOpts
                       ) -> Iterator[findings.Finding]:
    """The faults in the configuration of cinder-scheduler.

    :param given: its files and directories, empty for where it looks
    :param ours: serifos.conf
    :raises InputError: where it cannot be read
    """
    paths = files.paths(given, 'cinder', _PROGRAM)
    if not any(map(os.path.exists, paths)):
        yield findings.note(
            f'There is no {" or ".join(paths) or "cinder.conf"} on this '
            'host; run this on the hosts of cinder-scheduler, too.')
        return
    name = f'The configuration of {_PROGRAM} ({phrases.several(paths)})'
    conf = _read(name, paths, given)
    faults = [*_faults(conf)]
    yield from map(findings.failure, faults)
    yield from map(findings.warning, files.unknown(
        paths, {scheduler.GROUP.name: [*conf.serifos]}))
    if not faults:
        yield from _differences(name, paths[0], conf, ours)


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
    for section, options in sections.items():
        for name in options if section.lower() != scheduler.GROUP.name else ():
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


def _differences(name: str, path: str, conf: cfg.ConfigOpts,
                 ours: cfg.ConfigOpts) -> Iterator[findings.Finding]:
    """The findings about the scheduler; those of ``path`` are fixed there."""
    driver, weighers = conf.scheduler_driver, conf.scheduler_default_weighers
    if driver != DRIVER and WEIGHER not in weighers:
        yield findings.failure(
            f'{name} names no part of Serifos, and Cinder places without it; '
            f'set scheduler_driver = {DRIVER} there, or add {WEIGHER} to '
            'scheduler_default_weighers, and restart cinder-scheduler.',
            findings.Paste('', path, 'DEFAULT', (
                f'scheduler_driver = {DRIVER}',), _PROGRAM))
    elif driver == DRIVER and WEIGHER in weighers:
        yield findings.warning(
            f'{name} names {WEIGHER} among the weighers that the driver of '
            'Serifos falls back to; take it out there.')
    for option in 'state_dir', 'models_dir':
        said, mine = conf.serifos[option], ours.serifos[option]
        if os.path.realpath(said) != os.path.realpath(mine):
            yield findings.failure(
                f'{name} and serifos.conf have different {option} in '
                f'[serifos], {said} and {mine}; the scheduler looks where '
                'nothing is written.', findings.Paste(
                    '', path, 'serifos', (f'{option} = {mine}',), _PROGRAM))
    for each in _OBSERVED:
        seen = pathlib.Path(ours.serifos.state_dir, each)
        if seen.exists() and not seen.stat().st_mode & 0o044:
            yield findings.failure(
                f'{seen} can be read only by its owner; Cinder\'s user has '
                f'to be able to: chmod g+r {seen}.')


if __name__ == '__main__':
    sys.exit(main())
