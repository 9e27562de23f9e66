# SPDX-License-Identifier: Apache-2.0
"""The command line of the testbed: arguments in, sentences out."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import functools
import sys
import time

from tests.testbed import available
from tests.testbed import burst
from tests.testbed import demo
from tests.testbed import fault_commands
from tests.testbed import layout
from tests.testbed import load
from tests.testbed.nova import config
from tests.testbed.nova import in_use
from tests.testbed.nova import soak
from tests.testbed import rest
from tests.testbed import testbed


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
    made.add_argument('--nova', action='store_true',
                      help='start Keystone, Placement and Nova as well, with '
                      'one compute host')
    command('status', status, 'Say what runs.')
    made = command('load', use, 'Use volumes, and say what they saw.')
    made.add_argument('volumes', nargs='*', metavar='VOLUME',
                      help='id or name (default: all that are available)')
    made.add_argument('--write-pct', type=int, default=30, metavar='PCT',
                      choices=range(101), help='writes in %% (default 30)')
    made.add_argument('--block-kib', type=int, default=16, metavar='KIB',
                      choices=range(1, 1025),
                      help='size of a request (default 16)')
    made.add_argument('--iodepth', type=int, default=8, metavar='N',
                      choices=range(1, 257),
                      help='requests at once (default 8)')
    made.add_argument('--seconds', type=int, default=10, metavar='S',
                      choices=range(1, 86401), help='(default 10)')
    made.add_argument('--verify', action='store_true',
                      help='fio reads again what it wrote and compares')
    made = command('demo', show, 'Tell what serifos does, from a model of '
                   'each host to the last migration; 10 to 20 minutes.')
    made.add_argument('--available', action='store_true',
                      help='with volumes that no server uses; needs no Nova')
    made = command('burst', burst_in, 'Create many volumes at once, by '
                   "Cinder's scheduler and by ours, and compare; about 10 "
                   'minutes.')
    made.add_argument('--count', type=int, default=20, metavar='N',
                      choices=range(2, 65),
                      help='how many, of 1 GiB each (2 to 64, default 20)')
    made = command('soak', move_on, 'Move the volumes of a server, all of '
                   'them in use, one after the other; about a minute each.')
    made.add_argument('--moves', type=positive, default=50, metavar='N',
                      help='how many at least (default 50)')
    fault_commands.add(command, say)
    made = command('cinder', run_cinder, 'Run python-cinderclient inside.')
    made.add_argument('words', nargs=argparse.REMAINDER)
    made = command('inside', run_inside, "Run a program in its network.")
    made.add_argument('words', nargs=argparse.REMAINDER)
    made = command('down', down, 'Stop all that was started.')
    made.add_argument('--wipe', action='store_true',
                      help='remove the disks and the database, too')
    return found


def positive(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(
            f'{text!r} is not a number from 1 on.')
    return int(text)


def say(text: str) -> None:
    print(text, flush=True)


def up(arguments: argparse.Namespace) -> int | None:
    try:
        found = testbed.Testbed.attach(arguments.dir)
    except layout.TestbedError:
        pass
    else:
        if is_up(found):
            if arguments.nova and not found.nova:
                raise layout.TestbedError(
                    'the testbed that runs has no Nova; stop it by '
                    'tools/testbed down --wipe.')
            say('The testbed is up already.')
            return status(arguments)
    found = testbed.Testbed.up(
        arguments.dir, layout.Shape(
            arguments.hosts, arguments.size_gib, arguments.nova), say)
    url, project = found.endpoint
    say(f'Cinder is {url}/{project}: tools/testbed cinder list, or any '
        'program by tools/testbed inside PROGRAM ...')
    if found.nova:
        say(f'Keystone is {config.AUTH_URL}; user and project are admin, the '
            f'password is {config.PASSWORD}.')


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
    testbed.Testbed(where, where.shape or layout.Shape()).down(
        wipe=arguments.wipe)
    say('The testbed is down.')


def use(arguments: argparse.Namespace) -> None:
    found = testbed.Testbed.attach(arguments.dir)
    job = load.Job(arguments.write_pct, arguments.block_kib,
                   arguments.iodepth, verify=arguments.verify)
    loads = load.Loads(found)
    try:
        for volume in volumes(found, arguments.volumes):
            loads.start(volume, job)
        time.sleep(arguments.seconds)
    finally:
        results = loads.stop_all()
    say(f"{'volume':36}  {'host':5} {'iops':>6} {'mean us':>8} "
        f"{'p99 us':>8} errors")
    for one in sorted(results.values(), key=lambda each: each.host):
        say(f'{one.volume:36}  {one.host:5} {one.iops:6.0f} '
            f'{one.latency_us:8.0f} {one.p99_us:8.0f} {one.errors:6}')


def show(arguments: argparse.Namespace) -> None:
    found = testbed.Testbed.attach(arguments.dir)
    if not arguments.available and not found.nova:
        raise layout.TestbedError(
            'the testbed that runs has no Nova, hence no servers; tell it by '
            'tools/testbed demo --available, or start one with a Nova by '
            'tools/testbed down --wipe and tools/testbed up --nova.')
    made = (available.AvailableStory if arguments.available
            else in_use.InUseStory)
    demo.tell(functools.partial(made, found), say)


def burst_in(arguments: argparse.Namespace) -> None:
    burst.tell(testbed.Testbed.attach(arguments.dir), arguments.count, say)


def move_on(arguments: argparse.Namespace) -> int:
    return soak.tell(testbed.Testbed.attach(arguments.dir), arguments.moves,
                     say)


def volumes(found: testbed.Testbed, names: Sequence[str]) -> list[str]:
    """The ids of these, by id or name; all that are available by default."""
    known = [volume for volume in found.api.volumes()
             if volume['status'] == 'available']
    if not known:
        raise layout.TestbedError(
            'no volume is available; make one by tools/testbed cinder create '
            '1 --name NAME.')
    for name in names:
        if not any(name in (each['id'], each['name']) for each in known):
            raise layout.TestbedError(f'no volume {name} is available.')
    return [each['id'] for each in known
            if not names or each['id'] in names or each['name'] in names]


def run_cinder(arguments: argparse.Namespace) -> int:
    found = testbed.Testbed.attach(arguments.dir)
    return found.in_network(
        [found.layout.venv / 'bin' / 'cinder', '--os-auth-type', 'noauth',
         '--os-endpoint', rest.Rest.url, '--os-user-id', 'admin',
         '--os-project-id', layout.PROJECT, '--os-volume-api-version',
         rest.VERSION.split()[1], *arguments.words]).wait()


def run_inside(arguments: argparse.Namespace) -> int:
    found = testbed.Testbed.attach(arguments.dir)
    return found.in_network(arguments.words or ['bash']).wait()
