# SPDX-License-Identifier: Apache-2.0
"""Completion of our programs in a shell, made of their parsers by shtab.

``tools/completion DIRECTORY`` writes the files of all programs where packages
install them: share/bash-completion/completions/PROGRAM and
share/zsh/site-functions/_PROGRAM.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from importlib import metadata
import pathlib
import re

from cliff import app as cliff

from serifos.files import atomic

SHELLS = {'bash': 'share/bash-completion/completions/{}',
          'zsh': 'share/zsh/site-functions/_{}'}
"""Where packages have the file of a program."""

_FILES = ('FILE', 'PAGE', 'PLAN', 'MODEL', 'DATASET', 'JOURNAL', 'HISTORY',
          'RELATION', 'TARGET', 'OUT')
"""Metavars of what is, or may be, a file."""


def script(app: cliff.App, shell: str) -> str:
    """What completes a program.

    :param shell: bash or zsh
    """
    import shtab
    parser = tree(app)
    for each in _of(parser).values():
        for action in each._actions:
            if action.choices is not None:  # shtab takes a dict for verbs
                action.choices = [*action.choices]
            if action.metavar in _FILES:
                action.complete = shtab.FILE
            elif action.metavar == 'DIR':
                action.complete = shtab.DIRECTORY
    for action in parser._actions:
        if action.metavar in _FILES:
            action.complete = shtab.FILE
    return shtab.complete(parser, shell)


def tree(app: cliff.App) -> argparse.ArgumentParser:
    """A program's own options, and the parser of each of its verbs."""
    parser = argparse.ArgumentParser(
        app.NAME, parents=[app.parser], add_help=False)
    verbs = parser.add_subparsers()
    for point in sorted(metadata.entry_points(
            group=app.NAME.replace('-', '.'))):
        verb = app.command_manager.find_command([point.name])[0](app, None)
        described = _sentence(verb.get_description())
        verbs.add_parser(point.name, help=described)
        its = verbs.choices[point.name] = verb.get_parser(point.name)
        its.description = described  # zsh shows it whole beside the verb
    return parser


def _sentence(text: str) -> str:
    """The first sentence of a description, in one line."""
    return re.split(r'(?<=\.)\s', text.strip(), maxsplit=1)[0].replace(
        '\n', ' ')


def _of(parser: argparse.ArgumentParser
        ) -> dict[str, argparse.ArgumentParser]:
    """The parsers of the verbs."""
    return next(dict(action.choices) for action in parser._actions
                if isinstance(action, argparse._SubParsersAction))


def write(apps: Iterable[cliff.App], directory: str) -> None:
    """Writes the files of programs under a directory.

    :raises InputError: where they cannot be written
    """
    for app in apps:
        for shell, place in SHELLS.items():
            path = pathlib.Path(directory, place.format(app.NAME))
            path.parent.mkdir(parents=True, exist_ok=True)
            atomic.replace(path, script(app, shell) + '\n')
