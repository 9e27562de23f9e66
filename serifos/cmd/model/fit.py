# SPDX-License-Identifier: Apache-2.0
"""serifos-model fit, check, show, report, explain and predict: models."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import pathlib
import sys
from typing import Any

from cliff import command
from cliff import show

from serifos.cmd import app
from serifos.cmd import options
from serifos.cmd import output
from serifos import errors
from serifos.facts.dataset import Dataset
from serifos.facts.dataset import FIGURES
from serifos.facts import fields
from serifos.facts.workload import Load
from serifos.facts.workload import Workload
from serifos.files import atomic
from serifos.files import documents
from serifos.model import closed
from serifos.model import kinds
from serifos.model.model import Model
from serifos.model import verdict
from serifos.report import model_text
from serifos.report import table

_MODEL = 'a model, NAME.json, as build and fit write it'
_DATASET = 'the runs, NAME.jsonl, as build writes them'

_FORM = 'WRITE_PCT:BLOCK_KIB[:IODEPTH[:RANDOM_PCT[:THINK_US]]]'
_BOUNDS = (('write_pct', 0, 100), ('block_kib', 1e-3, 1048576),
           ('iodepth', 0, 1048576), ('random_pct', 0, 100),
           ('think_time_us', 0, 1e9))

LINES = 20
"""Terms or rules of a model that a table shows."""

Fitted = Callable[[Mapping[str, float]], Model]


def add_kind(parser: argparse.ArgumentParser) -> None:
    """The option --kind, of build and fit."""
    parser.add_argument(
        '--kind', choices=('auto', *kinds.names()), default='auto',
        help='kind of the model; auto takes the one of least '
        'cross-validated error (default: auto)')


def add_tails(parser: argparse.ArgumentParser) -> None:
    """The option --tails, of build and fit."""
    parser.add_argument(
        '--tails', action='store_true',
        help='fit models of the 99th percentiles of reads and of writes, too, '
        'into the same file: for [balancer] hot_by = read_p99 or write_p99')


class Fit(app.Fails, show.ShowOne):
    """Fit a model to a dataset and write it."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('dataset', metavar='DATASET', help=_DATASET)
        parser.add_argument('--out', required=True, metavar='MODEL',
                            help='write the model to this file, NAME.json')
        add_kind(parser)
        parser.add_argument('--name', help='name of the model (default: the '
                            'name of the file without .json)')
        parser.add_argument(
            '--predicts', choices=FIGURES, default='latency_us',
            metavar='FIGURE', help='figure of a run that the model predicts: '
            f'{", ".join(FIGURES)} (default: latency_us)')
        add_tails(parser)
        options.add_seed(parser, 'the cross-validation')
        parser.add_argument(
            '--set', type=_setting, action='append', default=[],
            metavar='NAME=VALUE', help='use this value of a setting of the '
            'kind, such as minsplit=40; may be given several times')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        # statsmodels takes a second to import; predict never needs it.
        from serifos.model import fit
        fields.refuse_outside('--seed', parsed_args.seed, 0)
        out = pathlib.Path(parsed_args.out)
        atomic.refuse_unwritable(out, 'model')
        dataset = documents.read_dataset(parsed_args.dataset)
        facts = {'sha256': documents.digest(parsed_args.dataset)}
        given = dict(parsed_args.set)

        def fitted(settings: Mapping[str, float]) -> Model:
            return fit.fit(
                dataset, parsed_args.kind, parsed_args.name or out.stem,
                parsed_args.predicts, parsed_args.seed, facts, settings)
        if parsed_args.tails and parsed_args.predicts != 'latency_us':
            raise errors.InputError(
                f'--tails goes with a model of latency_us, which '
                f'{parsed_args.predicts} is not; leave --predicts out.')
        model = self.model(parsed_args, dataset, given, fitted)
        if parsed_args.tails:
            model = fit.with_tails(model, dataset, parsed_args.kind,
                                   parsed_args.seed)
        documents.write_model(out, model)
        return told(model, parsed_args)

    def model(self, args: argparse.Namespace, dataset: Dataset,
              given: Mapping[str, float], fitted: Fitted) -> Model:
        """The model to write.

        :param given: the settings that the user chose
        :param fitted: what fits a model with any settings
        """
        return fitted(given)


def _setting(text: str) -> tuple[str, float]:
    name, _, value = text.partition('=')
    try:
        return name, float(value)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f'{text!r} is not a setting; write NAME=VALUE, such as minsplit=40'
        ) from None


class Check(app.Fails, show.ShowOne):
    """Print a model's error on a dataset; exit 1 where it is too large."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('model', metavar='MODEL', help=_MODEL)
        parser.add_argument('dataset', metavar='DATASET', help=_DATASET)
        parser.add_argument(
            '--max-mre', type=float, metavar='FRACTION',
            help='exit with 1 where the mean relative error is above this; '
                 '0.12 is 12 %%')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        from serifos.model import fit
        most = parsed_args.max_mre
        if most is not None and not 0 <= most < float('inf'):
            raise errors.InputError(
                f'A --max-mre of {most:g} cannot be used; give a fraction '
                'such as 0.12.')
        model = documents.read_model(parsed_args.model)
        found = fit.check(model, documents.read_dataset(parsed_args.dataset))
        if found.tenant_mre is not None:
            say_of_means(self.app.NAME, model)
        if most is not None and found.mre > most:
            self.exit_code = 1
            self.say(f'the error of {table.percent(found.mre)} exceeds the '
                     f'{table.percent(most)} allowed.')
        factor = (output.number(found.factor, '.3g'),) * bool(found.factor)
        tails = (output.named(found.tails, '{:.3g}'.format),) * bool(
            model.tails)
        return (('mre', 'mre_by_count', 'tenant_mre', 'tenant_mre_by_count',
                 'in_interval', 'tenants_in_interval',
                 *('factor',) * len(factor), *('tails',) * len(tails),
                 'samples'),
                (output.percent(found.mre), _by_label(found.mre_by_count),
                 output.percent(found.tenant_mre),
                 _by_label(found.tenant_mre_by_count),
                 output.percent(found.covered),
                 output.percent(found.tenants_covered), *factor, *tails,
                 found.samples))


def _by_label(by_count: Mapping[int, float]) -> output.Cell:
    return _percents({str(count): value for count, value in by_count.items()})


class Show(app.Fails, show.ShowOne):
    """Print a model: its terms and its error."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('model', metavar='MODEL', help=_MODEL)
        parser.add_argument(
            '--all', action='store_true', help='print every rule of a tree in '
            f'a table, not {LINES} of them (other formats always do)')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        return told(documents.read_model(parsed_args.model), parsed_args,
                    10 ** 9 if parsed_args.all else LINES)


class Report(app.Fails, command.Command):
    """Draw a model against a dataset on one HTML page."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('model', metavar='MODEL', help=_MODEL)
        parser.add_argument('dataset', metavar='DATASET', help=_DATASET)
        parser.add_argument('--out', metavar='PAGE',
                            help='write the page to this file (default: '
                            'beside MODEL, as .html)')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        from serifos.report import model_page
        out = pathlib.Path(
            parsed_args.out
            or pathlib.Path(parsed_args.model).with_suffix('.html'))
        if parsed_args.out:
            atomic.refuse_unwritable(out)
        model = documents.read_model(parsed_args.model)
        dataset = documents.read_dataset(parsed_args.dataset)
        atomic.replace(out, model_page.page_of(model, dataset))
        print(out.resolve())


def told(model: Model, args: argparse.Namespace,
         most: int = LINES) -> Any:
    """The summary as columns: all of it to a program, folded to a person.

    :param most: terms or rules that a person is shown
    """
    if args.formatter != 'table' or args.columns:
        return zip(*summary(model).items())
    facts = summary(model, most)
    left = len(model.predictor.lines()) - most
    if left > 0:
        facts[f'and {left} more'] = 'serifos-model show --all prints them.'
    return zip(*output.folded(facts).items())


def summary(model: Model, most: int | None = None) -> dict[str, Any]:
    """The main facts of a model, in order.

    :param most: terms or rules at the most
    """
    quality, device = model.quality, model.device or {}
    chosen: dict[str, Any] = {}
    if model.settings:
        chosen['settings'] = output.figures(model.settings)
    if quality.get('tuning'):
        chosen['tuning'] = output.figures(quality['tuning'])
    if quality.get('why'):
        chosen['why'] = quality['why']
    shares = {name: {label: round(value, digits) for label, value
                     in (quality.get(name) or {}).items()
                     if value is not None}
              for name, digits in (('adj_r2', 3), ('r2', 4))}
    return {
        'name': model.name, 'verdict': verdict.verdict(model).headline,
        'kind': model.kind, 'predicts': model.predicts,
        'device': output.Cell(device, ', '.join(
            f'{name} {value}' for name, value in device.items()
            if value is not None)),
        'runs': model.runs,
        'range': output.ranges(model.range),
        **chosen,
        **({'factor': round(quality['factor'], 3)}
           if quality.get('factor') is not None else {}),
        'mre': output.percent(quality.get('mre')),
        'mre_by_count': _percents(quality.get('mre_by_count') or {}),
        **({'tenant_mre': output.percent(quality['tenant_mre'])}
           if quality.get('tenant_mre') is not None else {}),
        'mre_by_kind': _percents(quality.get('mre_by_kind') or {}),
        **({'tails': _tails(model)} if model.tails else {}),
        **{name: output.named(of) for name, of in shares.items() if of},
        'interval': output.Cell(model.relative_interval, ' to '.join(
            f'{100 * end:+.1f} %' for end in model.relative_interval)),
        **dict(model.predictor.lines()[:most])}


def _tails(model: Model) -> output.Cell:
    """The models of 99th percentiles: the kind and the error of each."""
    found = {figure: {'kind': tail.kind, 'mre': tail.quality.get('mre'),
                      'factor': tail.quality.get('factor')}
             for figure, tail in model.tails.items()}
    return output.Cell(found, ', '.join(
        f'{figure}: {tail.kind}, ' + (verdict.within(tail) or output.percent(
            tail.quality.get('mre')).human_readable())
        for figure, tail in model.tails.items()))


def _percents(by_label: Mapping[str, float | None]) -> output.Cell:
    return output.Cell(by_label, ', '.join(
        f'{label}: {output.percent(value).human_readable()}'
        for label, value in by_label.items()))


class Predict(app.Fails, show.ShowOne):
    """Print what a model predicts for workloads run together."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('model', metavar='MODEL', help=_MODEL)
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


class Explain(app.Fails, command.Command):
    """Judge whether a model is good enough to plan with, and why."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('model', metavar='MODEL', help=_MODEL)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        print(model_text.text(documents.read_model(parsed_args.model)),
              end='')
