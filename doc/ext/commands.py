# SPDX-License-Identifier: Apache-2.0
"""The directives of the pages of commands: what argparse knows of them.

``.. serifos-commands:: serifos-model`` is a section for each verb of a
program, ``.. serifos-options:: serifos-model`` the options that stand before
the verb, ``.. serifos-formats::`` the options of every verb that prints a
table, and ``.. serifos-help:: serifos-status`` what its ``--help`` prints.
Verbs are those of ``setup.cfg`` in this tree, whatever is installed.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
import configparser
import contextlib
from importlib import metadata
import io
import os
import pathlib
import re
from unittest import mock

from cliff import command
from cliff import lister
from cliff import show
from cliff import sphinxext
from docutils import nodes
from docutils.parsers import rst
from docutils.parsers.rst import states
from docutils import statemachine

from serifos.cmd import app as apps
from serifos.cmd import status

SETUP = pathlib.Path(__file__).parents[2] / 'setup.cfg'
HELP = ['-h', '--help']

_MARKUP = re.compile(r'([*`|\\]|_(?=\W|$))')
_LITERAL = re.compile(r'(?<![\w/-])(--?[a-z][a-z-]*(?![\w/])'
                      r'|file:[A-Z]+|[A-Z]+@[A-Z#]+)')


class Options(sphinxext.AutoprogramCliffDirective):
    """The options of a program that stand before its verb."""

    def run(self) -> list[nodes.Node]:
        self.env = self.state.document.settings.env
        name, = self.arguments
        app = apps.App(name, '')
        app.parser.description = None
        plain(app.parser)
        return self._generate_app_node(app, name)


class Commands(sphinxext.AutoprogramCliffDirective):
    """A section for each verb of a program."""

    def run(self) -> list[nodes.Node]:
        self.env = self.state.document.settings.env
        name, = self.arguments
        app, shared = apps.App(name, ''), [*_of_tables()]

        class Verb:
            """What cliff takes for a class of commands."""

            def __init__(self, load: type[command.Command]) -> None:
                self.load = load

            def __call__(self, *_: object) -> command.Command:
                found = self.load(app, None)
                parse = found.get_parser
                found.get_parser = lambda prog: plain(parse(prog))
                return found

        found = []
        for verb, load in sorted(verbs(name.replace('-', '.'))):
            options = {o for a in load(app, None).get_parser(verb)._actions
                       for o in a.option_strings}
            tables = shared if '--max-width' in options else []
            found += self._generate_nodes_per_command(
                verb, f'{name} {verb}', Verb(load), tables + HELP)
            if tables:
                found[-1] += _parsed(self.state, [
                    '.. only:: html', '', '   And :ref:`the options of every '
                    'table <formats>`.', '', '.. only:: man', '',
                    '   And the options of every table, see below.'])
        return found


class Formats(sphinxext.AutoprogramCliffDirective):
    """The options that cliff gives to every verb that prints a table."""

    required_arguments = 0

    def run(self) -> list[nodes.Node]:
        lines = ['.. program:: COMMAND', '']
        for action in _of_tables().values():
            lines += [*sphinxext._format_optional_action(action), '']
        return _parsed(self.state, lines)


class Help(rst.Directive):
    """What ``serifos-status ... --help`` prints."""

    required_arguments, optional_arguments = 1, 9

    def run(self) -> list[nodes.Node]:
        out = io.StringIO()
        with (mock.patch.dict(os.environ, COLUMNS='79'),
              contextlib.redirect_stdout(out),
              contextlib.suppress(SystemExit)):
            status.main([*self.arguments[1:], '--help'])
        return [nodes.literal_block(text=out.getvalue(), language='none')]


def _parsed(state: states.RSTState, lines: list[str]) -> list[nodes.Node]:
    section = nodes.section()
    state.nested_parse(statemachine.StringList(lines, 'argparse'), 0, section)
    return section.children


class _Rows(lister.Lister):
    """Stands for each verb that prints several rows."""

    app_dist_name = None

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Nothing: only its options are of interest."""


class _Fields(show.ShowOne):
    """Stands for each verb that prints one thing."""

    app_dist_name = None

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        """Nothing: only its options are of interest."""


def _of_tables() -> dict[str, argparse.Action]:
    """Option → what cliff gives to every table; the longest of its names."""
    return {action.option_strings[-1]: action for kind in (_Rows, _Fields)
            for action in plain(kind(None, None).get_parser(''))._actions
            if action.option_strings[-1] not in HELP}


def verbs(group: str) -> Iterator[tuple[str, type[command.Command]]]:
    """(verb, class) for each entry point of a group."""
    setup = configparser.ConfigParser()
    setup.read(SETUP)
    for line in setup['entry_points'][group].strip().splitlines():
        name, _, value = (part.strip() for part in line.partition('='))
        yield name, metadata.EntryPoint(name, value, group).load()


def plain(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Turns the texts of a parser, which are plain, into those of Sphinx.

    What argparse fills in, such as ``%(default)s``, is filled in here.
    """
    formatter = argparse.HelpFormatter(parser.prog)
    for action in parser._actions:
        if action.help and action.help != argparse.SUPPRESS:
            action.help = quoted(formatter._expand_help(action))
        elif action.choices and not action.help:
            action.help = f'one of {", ".join(action.choices)}'
    parser.description = quoted(parser.description or '')
    parser.epilog = parser.epilog and quoted(parser.epilog)
    return parser


def quoted(text: str) -> str:
    """A plain text with its options as literals, and no other markup."""
    return _LITERAL.sub(r'``\1``', _MARKUP.sub(r'\\\1', text))


def setup(app):
    sphinxext.setup(app)
    app.add_directive('serifos-commands', Commands)
    app.add_directive('serifos-options', Options)
    app.add_directive('serifos-formats', Formats)
    app.add_directive('serifos-help', Help)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}
