# SPDX-License-Identifier: Apache-2.0
"""The options of serifos.conf, one module a group.

Layers 3 to 5 read the configuration here and pass values on as arguments.
"""

from collections.abc import Sequence
import contextlib
import io
import types
from typing import Any

from oslo_config import cfg
from oslo_log import log

from serifos.conf import balancer
from serifos.conf import cinder
from serifos.conf import database
from serifos.conf import files
from serifos.conf import history
from serifos.conf import keystone
from serifos.conf import nova
from serifos.conf import serifos
from serifos.conf import telemetry
from serifos.conf import values
from serifos import errors

LOG = log.getLogger(__name__)

_GROUPS = (serifos, balancer, cinder, nova, database, history, telemetry)
_LOGINS = (cinder, nova)


class Options(cfg.ConfigOpts):
    """The options of some files, checked.

    :param given: files and directories; none for those that oslo.config
        finds
    """

    def __init__(self, given: Sequence[str] = ()) -> None:
        super().__init__()
        self._given = given
        log.register_options(self)
        register_opts(self)

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        try:
            super().__call__(*args, **kwargs)
        except RecursionError:
            raise cfg.ConfigFileValueError(
                'an option of [DEFAULT] refers to itself') from None

    def reload_config_files(self) -> bool:
        """Reloads the files, on SIGHUP; bad ones change nothing."""
        why = ''
        try:
            again = load(self._given)
            for sentence in again.unknown():
                LOG.warning('%s', sentence)
            again.refuse_unknown()
        except errors.InputError as exc:
            why = str(exc)
        if why:
            LOG.error('%s The configuration stays as it was.', why)
            return False
        return super().reload_config_files()

    def files(self) -> list[str]:
        """Those that are read."""
        return files.paths(self._given, 'serifos')

    def unknown(self) -> list[str]:
        """A sentence for each option in the files that nothing reads."""
        return [*files.unknown(self.files(), self.known())]

    def refuse_unknown(self) -> None:
        """Refuses in mode auto what only warns else: it may be a limit.

        :raises InputError: where there is an option that nothing reads
        """
        found = self.unknown() if self.balancer.mode == 'auto' else None
        if found:
            raise errors.InputError(
                f'Mode auto does not start with an unknown option: '
                f'{found[0]}')

    def known(self) -> dict[str, set[str]]:
        """Group → the options that may stand there, deprecated ones too."""
        found = {'DEFAULT': {*self}}
        for group in _GROUPS:
            opts, name = [*_opts(group)], group.GROUP.name
            if group in _LOGINS:
                opts += keystone.all_options(self[name].auth_type)
            found[name] = {each for opt in opts for each in (
                opt.dest, *(old.name for old in opt.deprecated_opts))}
        return found


def register_opts(conf: cfg.ConfigOpts) -> None:
    for group in _GROUPS:
        values.register(conf, group.GROUP, _opts(group))


def _opts(group: types.ModuleType) -> list[cfg.Opt]:
    """All that is registered in a group, keystoneauth's options, too."""
    return [*group.OPTS, *(keystone.options() if group in _LOGINS else ())]


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    """For oslo-config-generator: ours, not oslo.db's and keystoneauth's."""
    return [(group.GROUP, [*getattr(group, 'SHOWN', group.OPTS)])
            for group in _GROUPS]


def load(given: Sequence[str] | None = None) -> Options:
    """The configuration from these files, else from where oslo looks.

    :raises InputError: where a file cannot be read, or an option's value
        cannot be used
    """
    conf = Options(given or ())
    check(conf, _read(conf, given))
    return conf


def check(conf: cfg.ConfigOpts, why: str | None = None) -> None:
    """Refuses values that cannot be used.

    :param why: what is wrong with the files as such
    :raises InputError: where something is
    """
    why = why or next(values.faults(conf, defaults()), None)
    if why is not None:
        raise errors.InputError(
            f'The configuration cannot be used: {why.rstrip(".")}.')


def defaults() -> Options:
    """The configuration of an operator who sets nothing."""
    conf = Options()
    conf([], default_config_files=[], default_config_dirs=[], use_env=False)
    return conf


def _read(conf: cfg.ConfigOpts, given: Sequence[str] | None) -> str | None:
    """The error in the files as such, None without one.

    For options that may stand on a command line oslo.config has argparse
    print what is wrong, and end the program.
    """
    with contextlib.redirect_stderr(io.StringIO()) as said:
        try:
            conf([], project='serifos', default_config_files=given or None)
        except (cfg.Error, OSError, ValueError) as exc:
            return str(exc)
        except SystemExit:
            argument = said.getvalue().rpartition('argument --')[2]
            return f'[DEFAULT] {argument}'.strip(' .:\n')
    return None
