# SPDX-License-Identifier: Apache-2.0
"""The arguments of every verb, as a function of bytes.

An input has the program in its first line, and an argument in each other one.
All are parsed; a verb that only looks at files is run as well, in a directory
that has some. No verb that could reach a device, a cloud or a port is run.
"""

from __future__ import annotations

import contextlib
import functools
import io
import shutil
import sys

from serifos.cmd import app
from tests.fuzz import files

LOOKING = {
    'serifos-model': {'predict', 'check', 'explain', 'show', 'similar'},
    'serifos-balancer': {'plan', 'explain', 'history', 'plans', 'show', 'slo',
                         'status', 'approve', 'cancel', 'undo'},
    'serifos-sim': set()}
"""Of each program, the verbs that are run."""

CONF = """\
[serifos]
state_dir = .
models_dir = .
[cinder]
noauth_endpoint = http://127.0.0.1:1/v3
[telemetry]
endpoints = node1:http://127.0.0.1:1/metrics
"""


@functools.cache
def _program(name: str) -> app.App:
    return app.App(name, '')


def prepare() -> None:
    """The files that arguments may name, in the current directory."""
    for name, path in (('cluster.json', 'cluster/cluster.json'),
                       ('m.json', 'model/outstanding.json'),
                       ('runs.jsonl', 'dataset/least.jsonl')):
        shutil.copyfile(files.CORPUS / path, name)
    with open('serifos.conf', 'w') as file:
        file.write(CONF)


def numbers(program: str, verb: str) -> list[str]:
    """The options of a verb that have a number, or numbers."""
    its, name, _ = _program(program).command_manager.find_command([verb])
    return [action.option_strings[-1] for action in its(
        _program(program), None).get_parser(name)._actions
        if action.type and action.option_strings
        and action.dest != 'max_width']  # of cliff


def run(words: list[str], every: bool = False) -> int:
    """The exit code of a command, which runs where it only looks.

    :param words: the program, options of all verbs, the verb, its arguments
    :param every: run it in any case; it is known to be refused
    """
    program = _program(words[0] if words[0] in LOOKING else 'serifos-model')
    program.options, rest = program.parser.parse_known_args(words[1:])
    verb, name, arguments = program.command_manager.find_command(rest)
    program.stdout = sys.stdout
    command = verb(program, program.options)
    parsed = command.get_parser(name).parse_args(arguments)
    if every or name in LOOKING[program.NAME]:
        return command.run(parsed)
    return 0


def arguments(data: bytes) -> None:
    """As :func:`run`; what is printed is not looked at."""
    home = files.file_of(b'', 'home', alone=True).parent
    with (contextlib.chdir(home), contextlib.redirect_stdout(io.StringIO()),
          contextlib.redirect_stderr(io.StringIO())):
        prepare()
        try:
            run(files.text(data).split('\n'))
        except (SystemExit, ValueError) as exc:
            if isinstance(exc, ValueError) and 'command' not in str(exc):
                raise
