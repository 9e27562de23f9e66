# SPDX-License-Identifier: Apache-2.0
"""The testbed's commands fault and faults."""

from __future__ import annotations

import argparse
from collections.abc import Callable
import functools
import pathlib

from tests.testbed import completing
from tests.testbed import fault
from tests.testbed import layout
from tests.testbed.nova import cases
from tests.testbed.nova import matrix
from tests.testbed.nova import services
from tests.testbed import testbed

OF_A_HOST: dict[str, Callable[[testbed.Testbed, int], None]] = {
    'kill-guest': testbed.Testbed.kill_guest,
    'boot-guest': testbed.Testbed.boot_guest,
    'kill-volume': testbed.Testbed.kill_cinder_volume,
    'stop-volume': testbed.Testbed.stop_cinder_volume,
    'start-volume': testbed.Testbed.start_cinder_volume,
    'fill': fault.fill,
    'unfill': fault.unfill,
}

OF_ALL: dict[str, Callable[[testbed.Testbed], None]] = {
    'restart-rabbitmq': testbed.Testbed.restart_rabbitmq,
    'restart-database': testbed.Testbed.restart_database,
}

OF_NOVA: dict[str, Callable[[services.Services], None]] = {
    'kill-compute': services.Services.kill_compute,
    'boot-compute': services.Services.boot_compute,
    'kill-nova-compute': services.Services.kill_nova_compute,
    'start-nova-compute': services.Services.start_nova_compute,
    'restart-nova-compute': services.Services.restart_nova_compute,
    'kill-nova-api': services.Services.kill_nova_api,
    'start-nova-api': services.Services.start_nova_api,
}

TOLD: dict[str, Callable[[testbed.Testbed, testbed.Say], None]] = {
    'completing': completing.tell,
    'all': lambda found, say: fault.Story(found, say).tell(),
}


def add(command: Callable[..., argparse.ArgumentParser],
        say: testbed.Say) -> None:
    """Adds the two commands; ``command`` makes the parser of one."""
    made = command('fault', functools.partial(break_it, say),
                   'Break something, or repair it.')
    made.add_argument('what', choices=[*OF_A_HOST, *OF_ALL, *OF_NOVA, *TOLD],
                      help='all: one after the other, and what comes of it')
    made.add_argument('host', type=int, nargs='?', metavar='N',
                      help='number of the host, where it is one that suffers')
    made = command('faults', functools.partial(try_all, say),
                   'Make each fault of a cloud with a Nova at each stage of '
                   'a migration of a volume in use, and keep what came of '
                   'it; 2 to 10 minutes each.')
    made.add_argument('faults', nargs='*', metavar='FAULT[,STAGE]',
                      help='default: all; list: print them')
    made.add_argument('--minutes', type=float, default=1e9, metavar='M',
                      help='after which none is begun')
    made.add_argument('--auto', action='store_true',
                      help='leave the recovery to the balancer in mode auto')
    made.add_argument('--results', type=pathlib.Path, metavar='FILE',
                      default='in-use-faults.jsonl',
                      help='lines of JSON; a fault that has one there is not '
                      'tried again (default: %(default)s)')


def break_it(say: testbed.Say, arguments: argparse.Namespace) -> None:
    what, number = arguments.what, arguments.host
    found = testbed.Testbed.attach(arguments.dir)
    if (what in OF_A_HOST) != (number is not None):
        raise layout.TestbedError(
            f'fault {what} takes '
            f"{'the number of a' if what in OF_A_HOST else 'no'} host.")
    if what in OF_A_HOST:
        OF_A_HOST[what](found, number)
    elif what in OF_ALL:
        OF_ALL[what](found)
    elif what in TOLD:
        TOLD[what](found, say)
    elif found.nova:
        OF_NOVA[what](found.nova)
    else:
        raise layout.TestbedError(
            f'fault {what} needs a Nova; see tools/testbed up --nova.')


def try_all(say: testbed.Say, arguments: argparse.Namespace) -> None:
    known = {f'{name},{stage}': (name, stage)
             for name, stage in cases.cases()}
    if arguments.faults == ['list']:
        say('\n'.join(known))
        return
    asked = {*arguments.faults} or {*known}
    unknown = asked - {*known} - {*cases.FAULTS}
    if unknown:
        raise layout.TestbedError(
            f'{min(unknown)} is no fault; faults list prints them.')
    found = testbed.Testbed.attach(arguments.dir)
    matrix.Matrix(found, arguments.results, arguments.auto, say).run(
        [case for text, case in known.items() if asked & {text, case[0]}],
        arguments.minutes)
