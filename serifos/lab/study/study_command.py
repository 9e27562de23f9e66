# SPDX-License-Identifier: Apache-2.0
"""serifos-model study: the effects of workloads' parameters.

A table of the models of section 4 of the Serifos paper: Tables 3 to 5 and
Eq. 6 to 13.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from collections.abc import Sequence
import pathlib
from typing import Any
from typing import TYPE_CHECKING

from cliff import lister

from serifos.cmd import app
from serifos.cmd import measuring
from serifos.cmd import output
from serifos.facts.dataset import Dataset
from serifos.files import documents
from serifos.lab.study import options

if TYPE_CHECKING:
    from serifos.lab.study import study

HEADER = ('model', 'term', 'coefficient', 'effect_ms', 'p_value',
          'significant')

LEGEND = """\
W: writes, %; X: random requests, %; S: block size, KiB; INTCP: intercept.
coefficient: microseconds for one more of it. effect_ms: by how much latency
changes over the range of it that was measured. p_value: that it would look
so if it had no effect (type-III ANOVA); significant at 0.05."""

CONDITIONS = """\
F: file set, GiB; E: 1 by the I/O scheduler {1}, 0 by {0}."""

TOGETHER = """\
separate: terms of each workload; sums: of all workloads added. The row
"separate terms" asks whether these explain more than the sums (F test): with
"no", the sums may stand for them."""


class Study(app.Fails, lister.Lister):
    """Print the effects of workloads' parameters on their latency.

    TARGET is as for build, a directory, for a scratch file in it, or the
    dataset of a finished study, NAME.jsonl.
    A short study of one workload is measured unless options say otherwise,
    40 runs in about ten minutes; --counts 2 asks about two that run together.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        measuring.add_arguments(parser)
        options.add_arguments(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        # Fails before hours of measuring where it is not installed.
        from serifos.lab.study import study
        target = parsed_args.target
        if target.endswith('.jsonl') and not target.startswith('file:'):
            options.refuse_measured(parsed_args)
            path: pathlib.Path | None = pathlib.Path(target)
        else:
            options.refuse_two_sizes(parsed_args)
            options.name_scratch_file(parsed_args)
            path = measuring.measure(
                parsed_args, options.chosen(parsed_args))
        if path is None:
            return (), ()
        dataset = documents.read_dataset(path)
        models = study.models(dataset)
        measuring.say(LEGEND)
        _say_conditions(dataset)
        if any(model.separate_p is not None for model in models):
            measuring.say(TOGETHER)
        return HEADER, list(_rows(models))


def _say_conditions(dataset: Dataset) -> None:
    from serifos.model import conditions
    found = conditions.of([s.condition for s in dataset.valid()])
    if found is not None:
        measuring.say(CONDITIONS.format(*found.schedulers)
                      if found.schedulers
                      else CONDITIONS.partition(';')[0] + '.')


def _rows(models: Sequence[study.Model]) -> Iterator[tuple[object, ...]]:
    """A row for each term of each model, its adjusted R² first."""
    for model in models:
        yield _row(model.name, 'adj. R²', model.anova.adj_r2, '.4f')
        for term, value in model.anova.coefficients.items():
            effect_us = model.effects_us.get(term)
            yield _row(model.name, term, value, '.5g',
                       None if effect_us is None else effect_us / 1000,
                       model.anova.p_values[term])
        if model.separate_p is not None:
            yield _row(model.name, 'separate terms', p=model.separate_p)


def _row(model: str, term: str, value: float | None = None, form: str = '',
         effect_ms: float | None = None,
         p: float | None = None) -> tuple[object, ...]:
    from serifos.model.linear import ols
    return (model, term, output.number(value, form, '–'),
            output.number(effect_ms, '.3g', '–'), output.number(p, '.3g', '–'),
            '–' if p is None else 'yes' if p <= ols.ALPHA else 'no')
