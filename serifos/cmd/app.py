# SPDX-License-Identifier: Apache-2.0
"""Verbs, options and exit codes of all programs."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import difflib
import functools
from importlib import metadata
from importlib import util
import io
import logging
import os
import re
import sys
import traceback
from typing import Any
from typing import TYPE_CHECKING
import warnings

from cliff import app
from cliff import command
from cliff import commandmanager
from cliff import lister
import pbr.version

from serifos.cmd import completion
from serifos.cmd import output
from serifos import errors
from serifos.facts import phrases
from serifos.files import atomic
from serifos.report import wording

if TYPE_CHECKING:
    from serifos.conf import Options

# futurist, which tooz needs, still looks for eventlet where that is.
warnings.filterwarnings('ignore', message='\nEventlet is deprecated')
# To name the package that a verb comes from, cliff would read the metadata of
# all that are installed: a quarter of the time of a short command.
command._dists_by_mods = {}

_COLUMNS = 12  # that an error names

_EXTRAS = {'scipy': 'model', 'sklearn': 'model', 'statsmodels': 'model',
           'matplotlib': 'report', 'jinja2': 'report',
           'shtab': 'completion'}
"""Which extra of ours brings a package that a verb may need."""


class _Print(argparse.Action):
    """Loads what prints a completion when one is asked for."""

    def __init__(self, *args: Any, program: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._program = program

    def __call__(self, _: argparse.ArgumentParser, *args: object) -> None:
        try:
            print(completion.script(App(self._program, ''), str(args[1])))
        except ModuleNotFoundError as exc:
            print(f'{self._program}: {_how_to_install(exc)}',
                  file=sys.stderr)
            raise SystemExit(errors.ToolError.exit_code) from None
        raise SystemExit(0)


class Verbs(commandmanager.CommandManager):
    """The entry points of a namespace, each loaded when it is asked for."""

    def load_commands(self, namespace: str) -> None:
        for point in metadata.entry_points(group=namespace):
            self.commands[point.name] = _Verb(point)

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        """The verbs as the program's own help lists them; none is loaded."""
        for name, verb in super().__iter__():
            yield name, verb.listed() if isinstance(verb, _Verb) else verb


class _Verb:
    """An entry point that loads even where its extra is not installed."""

    def __init__(self, point: metadata.EntryPoint) -> None:
        self._point = point

    def load(self) -> type[command.Command]:
        try:
            return self._point.load()
        except ModuleNotFoundError as exc:
            return type('Lacking', (_Lacking,), {
                '__doc__': _how_to_install(exc), 'missing': exc})

    def listed(self) -> commandmanager.EntryPointWrapper:
        """The verb with no more than the first line of its docstring."""
        module, name = self._point.module, self._point.attr
        spec = util.find_spec(module)
        source = spec.loader.get_source(module) if spec else None
        first = re.search(rf'^class {name}\([^)]*\):\s+"""(.+?)(""")?$',
                          source or '', re.M)
        return commandmanager.EntryPointWrapper(self._point.name, type(
            'Listed', (_Lacking,), {'__doc__': first[1] if first else ''}))


class App(app.App):
    """One of our programs; its verbs are entry points in a namespace."""

    def __init__(self, name: str, description: str) -> None:
        self.NAME = name  # which the options need
        super().__init__(
            description=description, deferred_help=True,
            version=pbr.version.VersionInfo('serifos').version_string(),
            command_manager=Verbs(name.replace('-', '.')))

    def build_option_parser(self, *args: Any,
                            **kwargs: Any) -> argparse.ArgumentParser:
        parser = super().build_option_parser(*args, **kwargs)
        parser.add_argument(
            '--config-file', action='append', metavar='FILE',
            help='read the configuration from this file (default: where '
                 'OpenStack looks, such as /etc/serifos/serifos.conf)')
        parser.add_argument(
            '--print-completion', choices=('bash', 'zsh'),
            action=functools.partial(_Print, program=self.NAME),
            help='print what completes our commands in this shell, and exit')
        return _short(parser)

    def interact(self) -> None:
        """Refuses options without a command; cliff would open a shell."""
        print(f'{self.NAME}: Give a command; see --help.', file=sys.stderr)
        raise SystemExit(errors.InputError.exit_code)

    def get_fuzzy_matches(self, cmd: str) -> list[str]:
        """The verbs that begin so, and those spelt alike, else all."""
        verbs = sorted(self.command_manager.commands)
        return [*dict.fromkeys([
            *(verb for verb in verbs if verb.startswith(cmd)),
            *difflib.get_close_matches(cmd, verbs, cutoff=0.7)])] or verbs

    def run_subcommand(self, argv: list[str]) -> int:
        """Runs a verb; an unknown one is an error like all others."""
        out = self.stdout
        try:
            self.command_manager.find_command(argv)
        except ValueError:
            self.stdout = self.stderr
        try:
            return super().run_subcommand(argv)
        finally:
            self.stdout = out

    def configure_logging(self) -> None:
        super().configure_logging()
        # What libraries tell is of interest only to who asks for it.
        if self.options.verbose_level < 2:
            for name in ('matplotlib', 'PIL', 'stevedore'):
                logging.getLogger(name).setLevel(logging.WARNING)
            # Its warnings come again in our own sentence.
            logging.getLogger('keystoneauth').setLevel(logging.ERROR)

    @functools.cached_property
    def conf(self) -> Options:
        # With it come oslo.config, oslo.log and keystoneauth, which no help
        # needs.
        from serifos import conf  # noqa: PLC0415
        from serifos.conf import files  # noqa: PLC0415
        given = self.options.config_file or ()
        for path in files.paths(given, 'serifos'):
            atomic.read_text(path, 'configuration', files.MOST_BYTES)
        found = conf.load(given)
        for sentence in found.unknown():
            print(f'{self.NAME}: {sentence}', file=sys.stderr)
        return found


class Fails(command.Command):
    """A verb whose errors are one sentence and an exit code.

    Mix it in before a cliff base class.
    """

    app: App
    exit_code = 0
    may_be_silent = False
    """Whether -q silences what is printed by a verb without ``-f``."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        return _short(super().get_parser(prog_name))

    def say(self, text: str) -> None:
        """Prints one line on standard error, beside the results."""
        print(f'{self.app.NAME}: {text}', file=sys.stderr)

    def note(self, text: str) -> None:
        """The same, of what is good to know and no warning: not with -q."""
        if not output.is_quiet():
            self.say(text)

    def produce_output(self, parsed_args: argparse.Namespace,
                       column_names: Sequence[str], data: Any) -> int:
        """Prints nothing, not an empty line, for an empty table.

        ``-f value``, which has no null, has the word of the table for it,
        and ``-f csv`` nothing.
        """
        if not column_names and parsed_args.formatter == 'table':
            return 0
        check_columns(parsed_args.columns, column_names)
        shown = {'value': output.of_value, 'csv': output.of_csv}.get(
            parsed_args.formatter)
        if shown is not None:
            data = ([[*map(shown, row)] for row in data]
                    if isinstance(self, lister.Lister)
                    else [*map(shown, data)])
        return super().produce_output(parsed_args, column_names, data)

    def run(self, parsed_args: argparse.Namespace) -> int:
        try:
            return self._run(parsed_args)
        except errors.SerifosError as exc:
            self._trace()
            self.say(str(exc))
            return exc.exit_code
        except ModuleNotFoundError as exc:
            self._trace()
            self.say(_how_to_install(exc))
            return errors.ToolError.exit_code
        except KeyboardInterrupt:
            self.say('Stopped.')
            return errors.Interrupted.exit_code

    def _trace(self) -> None:
        """With --debug, the traceback of the error that is handled."""
        if self.app.options.debug:
            traceback.print_exc()

    def _run(self, parsed_args: argparse.Namespace) -> int:
        quiet = self.app.options.verbose_level == 0
        silent, was = quiet and self._is_silent(parsed_args), self.app.stdout
        with (output.voice(quiet, silent),
              wording.whole_names(getattr(parsed_args, 'long', False))):
            try:
                if silent:
                    self.app.stdout = sys.stdout  # where cliff's tables go
                return super().run(parsed_args) or self.exit_code
            finally:
                self.app.stdout = was

    def _is_silent(self, parsed_args: argparse.Namespace) -> bool:
        """Whether nobody asked for what is printed, nor is asked about it."""
        form = getattr(parsed_args, 'formatter', None)
        return (self.may_be_silent if form is None else form == 'table') and (
            getattr(parsed_args, 'yes', True))


def check_columns(asked: Sequence[str], names: Sequence[str]) -> None:
    """Refuses a ``-c`` that is not there, which cliff may ignore.

    :raises InputError: it names the first columns, as the rows of a model or
        a relation may be thousands
    """
    def plain(given: Sequence[str]) -> set[str]:
        return {name.lower().strip().replace(' ', '_') for name in given}
    for name in asked:
        if not plain([name]) & plain(names):
            raise errors.InputError(
                f'-c {name!r}: there is no such column; there are: '
                f'{phrases.several(names, _COLUMNS) or "none"}.')


class _Lacking(Fails):

    missing: ModuleNotFoundError

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.parse_args = lambda *_: argparse.Namespace()
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        raise self.missing


def _how_to_install(exc: ModuleNotFoundError) -> str:
    """:raises ModuleNotFoundError: where no extra of ours brings it"""
    name = (exc.name or '').partition('.')[0]
    if name not in _EXTRAS:
        raise exc
    return (f'{name} is not installed; install it with pip install '
            f'serifos[{_EXTRAS[name]}].')


def _short(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Cuts the errors of argparse, which repeat an argument, to one line."""
    refuse = parser.error
    parser.error = lambda text: refuse(errors.one_line(text))
    return parser


def main(name: str, description: str, argv: Sequence[str] | None) -> int:
    """Runs a program; returns its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)

    def run() -> int:
        try:
            return App(name, description).run(arguments or ['--help'])
        except SystemExit as exc:  # argparse has said what is wrong
            return 2 if isinstance(exc.code, str) else exc.code or 0
    return guarded(name, run)


class _Output:
    """Standard output; the program ends where it cannot be written.

    It ends by SystemExit, as cliff and oslo.upgradecheck catch any other
    exception, and print it.
    """

    def __init__(self, stream: Any, name: str, code: int) -> None:
        self._stream = stream
        self._name = name
        self._code = code

    def write(self, text: str) -> int:
        return self._tried(self._stream.write, text)

    def flush(self) -> None:
        self._tried(self._stream.flush)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _tried(self, do: Callable[..., Any], *args: str) -> Any:
        try:
            return do(*args)
        except OSError as exc:
            why = exc
        # What is left of it would be written, and fail, at the very end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
        if not isinstance(why, BrokenPipeError):  # who reads has enough
            print(f'{self._name}: The output cannot be written: '
                  f'{why.strerror}.', file=sys.stderr)
        raise SystemExit(self._code)


def guarded(name: str, run: Callable[[], int], failed: int = 1) -> int:
    """The exit code of a program, of which the output may not be written.

    Letters that the output has no code for are written as escapes.

    :param failed: the code where it cannot be written
    """
    if sys.stdin is None:
        sys.stdin = open(os.devnull)
    if sys.stdout is None:
        # Of programs that we run, a file opened now would be the output.
        print(f'{name}: The standard output is closed; send it to /dev/null '
              'where nobody reads it.', file=sys.stderr)
        return failed
    if sys.stderr is None:
        sys.stderr = open(os.devnull, 'w')  # else print takes stdout for it
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors='backslashreplace')
    with contextlib.redirect_stdout(_Output(sys.stdout, name, failed)):
        code = run()
        sys.stdout.flush()
    return code
