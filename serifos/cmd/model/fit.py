# SPDX-License-Identifier: Apache-2.0
"""serifos-model fit, check, show and report: models from datasets."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from collections.abc import Mapping
import pathlib
from typing import Any

from cliff import command
from cliff import show

from serifos.cmd import app
from serifos.cmd.model import predict
from serifos.cmd import options
from serifos.cmd import output
from serifos import errors
from serifos.facts.dataset import Dataset
from serifos.facts.dataset import FIGURES
from serifos.facts import fields
from serifos.files import atomic
from serifos.files import documents
from serifos.model import kinds
from serifos.model.model import Model
from serifos.model import verdict
from serifos.report import table

_MODEL = 'a model, NAME.json, as build and fit write it'
_DATASET = 'the runs, NAME.jsonl, as build writes them'

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
            predict.say_of_means(self.app.NAME, model)
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
        from serifos.report import model as report
        out = pathlib.Path(
            parsed_args.out
            or pathlib.Path(parsed_args.model).with_suffix('.html'))
        if parsed_args.out:
            atomic.refuse_unwritable(out)
        model = documents.read_model(parsed_args.model)
        dataset = documents.read_dataset(parsed_args.dataset)
        atomic.replace(out, report.page_of(model, dataset))
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
