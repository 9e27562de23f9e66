# SPDX-License-Identifier: Apache-2.0
"""serifos-sim dataset: the runs of a simulated device."""

from __future__ import annotations

import argparse

from cliff import command

from serifos.cmd import app
from serifos.cmd import options
from serifos.design import d_optimal
from serifos.design import full
from serifos.design import random_runs
from serifos.facts import bounds
from serifos.files import atomic
from serifos.files import documents
from serifos.lab.sim import devices
from serifos.lab.sim import modeler

_DEVICES = {ssd.name: ssd for ssd in devices.NAMED}
_MOST_RUNS = 10_000
_SAMPLED_S = 10.0  # the runtime of a random run


class Dataset(app.Fails, command.Command):
    """Write the dataset that a build would measure on a simulated device."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('device', metavar='DEVICE', choices=_DEVICES,
                            help=f'one of {", ".join(_DEVICES)}')
        parser.add_argument('out', metavar='OUT',
                            help='the file to write, NAME.jsonl')
        runs = parser.add_mutually_exclusive_group()
        runs.add_argument('--runs', type=int, default=80, metavar='N',
                          help='runs of the short design (default: 80)')
        runs.add_argument('--sampled', type=int, metavar='N',
                          help='random runs instead, as build --sampled')
        runs.add_argument('--study', action='store_true',
                          help='the 660 runs of serifos-model study instead')
        options.add_seed(parser, 'the choice of runs')
        parser.add_argument(
            '--chance', type=int, default=0, metavar='SEED',
            help='another one is another unit of the device (default: 0)')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        args, ssd = parsed_args, _DEVICES[parsed_args.device]
        atomic.refuse_unwritable(args.out)
        for name, value, least, most in (
                ('--runs', args.runs, d_optimal.LEAST, _MOST_RUNS),
                ('--sampled', args.sampled, 1, _MOST_RUNS),
                ('--seed', args.seed, 0, 2 ** 32),
                ('--chance', args.chance, 0, 2 ** 32)):
            if value is not None:
                bounds.refuse_outside(name, value, least, most)
        if args.study:
            found = modeler.dataset(ssd, modeler.Purpose.SHORT, [
                *full.sets(full.STUDY)], args.chance)
        elif args.sampled is not None:
            found = modeler.dataset(
                ssd, modeler.Purpose.TEST, random_runs.runs(
                    args.sampled, seed=args.seed), args.chance, _SAMPLED_S)
        else:
            found = modeler.dataset(ssd, modeler.Purpose.SHORT, d_optimal.runs(
                args.runs, seed=args.seed), args.chance)
        documents.begin_dataset(args.out, found.header)
        for sample in found.samples:
            documents.append_sample(args.out, sample)
        print(args.out)
