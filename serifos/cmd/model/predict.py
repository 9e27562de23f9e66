# SPDX-License-Identifier: Apache-2.0
"""serifos-model predict: the latency of workloads run together."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import dataclasses
import sys
from typing import Any

from cliff import show

from serifos.cmd import app
from serifos.cmd import output
from serifos import errors
from serifos.facts.workload import Load
from serifos.facts.workload import Workload
from serifos.files import documents
from serifos.model import closed
from serifos.model.model import Model

_FORM = 'WRITE_PCT:BLOCK_KIB[:IODEPTH[:RANDOM_PCT[:THINK_US]]]'
_BOUNDS = (('write_pct', 0, 100), ('block_kib', 1e-3, 1048576),
           ('iodepth', 0, 1048576), ('random_pct', 0, 100),
           ('think_time_us', 0, 1e9))


class Predict(app.Fails, show.ShowOne):
    """Print what a model predicts for workloads run together."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'model', metavar='MODEL',
            help='a model, NAME.json, as build and fit write it')
        parser.add_argument(
            '-w', '--workload', action='append', default=[], metavar=_FORM,
            help='a workload, such as 30:16 or 30:16:32:100; give -w once for '
                 'each of those that run together. With a think time, '
                 'IODEPTH requesters wait that many µs after each request')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        if not parsed_args.workload:
            raise errors.InputError(
                'Give a workload with -w, such as -w 30:16.')
        model = documents.read_model(parsed_args.model)
        workloads = _together(model, [
            workload(text) for text in parsed_args.workload])
        load = closed.together(model, workloads)
        outside = {name for w in workloads if w.outstanding
                   for name in model.outside(w)}
        least, greatest = model.range.get('count', (0, load.count))
        if load.count and not least <= load.count <= greatest:
            outside.add('count')
        unit = model.predicts.rpartition('_')[2]
        of_tenants = unit == 'us'  # what tenants see is a latency
        if of_tenants:
            say_of_means(self.app.NAME, model)
        return ((model.predicts, f'interval_{unit}', 'extrapolated',
                 'tenants'),
                (_figure(model.predict(load), unit),
                 output.Cell([*model.interval(load)], ' to '.join(
                     output.figure(end, unit)
                     for end in model.interval(load))),
                 output.Cell(sorted(outside), ', '.join(
                     sorted(outside)) or 'nothing'),
                 tenants(model, load, workloads if of_tenants else ())))


def _figure(value: float, unit: str) -> output.Cell:
    return output.Cell(value, output.figure(value, unit))


def _together(model: Model,
              asked: Sequence[Workload]) -> list[Workload]:
    """The workloads with what they keep outstanding."""
    if not any(w.think_time_us for w in asked):
        return list(asked)
    if model.predicts != 'latency_us':
        raise errors.InputError(
            f'{model.name} predicts {model.predicts}, and how many requests '
            'a workload that thinks keeps outstanding follows from a '
            'latency_us; leave THINK_US out.')
    return closed.settled(model, asked)


def tenants(model: Model, load: Load,
            workloads: Sequence[Workload]) -> output.Cell:
    """What each workload sees, in the order asked."""
    found = []
    for each in workloads:
        seen = model.tenant(load, each)
        ends = model.tenant_interval(load, each)
        found.append({**dataclasses.asdict(seen),
                      'interval_us': None if ends is None else [*ends]})
    return output.Cell(found, ', '.join(
        'none' if one['latency_us'] is None
        else output.figure(one['latency_us'], 'us')
        for one in found))


def say_of_means(program: str, model: Model) -> None:
    """One line on standard error where tenants are not distinguished."""
    if not model.tenants:
        print(f'{program}: kind {model.kind} does not tell tenants apart; the '
              'mean of the pool is taken for each. Fit a model of kind tenant '
              'to know what each sees.', file=sys.stderr)


def workload(text: str) -> Workload:
    """The workload that a person wrote as ``30:16:8:100``.

    :raises InputError: where it is not one
    """
    parts = text.split(':')
    try:
        values = [float(part) for part in parts]
    except ValueError:
        values = []
    if not 2 <= len(values) <= 5:
        raise errors.InputError(
            f'{text!r} is not a workload; write {_FORM}, for example 30:16:8.')
    for (name, least, greatest), value in zip(_BOUNDS, values):
        if not least <= value <= greatest:
            raise errors.InputError(
                f'{name} = {value:g} is out of range; give {least:g} to '
                f'{greatest:g}.')
    return Workload(*values[:4], think_time_us=sum(values[4:]))
