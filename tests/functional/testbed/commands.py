# SPDX-License-Identifier: Apache-2.0
"""The command line of the testbed: arguments in, sentences out."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import sys

from tests.functional.testbed import layout
from tests.functional.testbed import testbed


def main(argv: Sequence[str]) -> int:
    arguments = parser().parse_args(argv)
    try:
        return arguments.run(arguments) or 0
    except layout.TestbedError as error:
        print(f'testbed: {error}', file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print('testbed: stopped; tools/testbed down cleans up.',
              file=sys.stderr)
        return 130


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(
        prog='tools/testbed', description=testbed.__doc__)
    found.add_argument('--dir', help='its directory (default: .testbed in '
                       'the checkout)')
    commands = found.add_subparsers(required=True, metavar='COMMAND')

    def command(name: str, run, text: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=text, description=text)
        made.set_defaults(run=run)
        return made

    made = command('up', up, 'Start it, or say that it runs.')
    made.add_argument('--hosts', type=int, default=3, metavar='N',
                      choices=range(1, layout.MAX_HOSTS + 1),
                      help='storage hosts (1 to 9, default 3)')
    made.add_argument('--size-gib', type=int, default=6, metavar='GIB',
                      choices=range(2, 65),
                      help='size of the SSD of each (2 to 64, default 6)')
    command('status', status, 'Say what runs.')
    made = command('down', down, 'Stop all that was started.')
    made.add_argument('--wipe', action='store_true',
                      help='remove the disks and the database, too')
    return found


def say(text: str) -> None:
    print(text, flush=True)


def up(arguments: argparse.Namespace) -> int | None:
    try:
        found = testbed.Testbed.attach(arguments.dir)
    except layout.TestbedError:
        pass
    else:
        if is_up(found):
            say('The testbed is up already.')
            return status(arguments)
    found = testbed.Testbed.up(
        arguments.dir, hosts=arguments.hosts, size_gib=arguments.size_gib,
        say=say)
    url, project = found.endpoint
    say(f'Cinder: {url}/{project}, to be asked from inside: '
        f'ip netns exec {found.layout.network} ...')


def is_up(found: testbed.Testbed) -> bool:
    state = found.status()
    return (all(state['processes'].values())
            and len(state['backends']) == len(found.hosts))


def status(arguments: argparse.Namespace) -> int:
    """0 where all is well, 1 where it is not."""
    found = testbed.Testbed.attach(arguments.dir)
    state = found.status()
    say(f"network   {state['network']}")
    for name, alive in state['processes'].items():
        say(f"{'runs' if alive else 'DEAD':9} {name}")
    for host in found.hosts:
        well = host.service in state['backends']
        say(f"{'up' if well else 'DOWN':9} {host.pool}  "
            f'reads {host.read_mbs} MB/s, writes {host.write_mbs} MB/s')
    say(f"{len(state['backends'])} backends up")
    return 0 if is_up(found) else 1


def down(arguments: argparse.Namespace) -> None:
    where = layout.Layout.at(arguments.dir)
    testbed.Testbed(where, testbed.hosts_of(where)).down(wipe=arguments.wipe)
    say('The testbed is down.')
