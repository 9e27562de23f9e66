# SPDX-License-Identifier: Apache-2.0
"""serifos-model study: the effects of one workload's parameters.

A table of two models of its latency (Tables 3 and 4 of the paper).
"""

from __future__ import annotations

import argparse
import pathlib
from typing import Any
from typing import TYPE_CHECKING

from cliff import lister

from serifos.cmd import app
from serifos.cmd import measuring
from serifos.cmd.model import design_options
from serifos.files import documents

if TYPE_CHECKING:
    from serifos.model.linear import ols

HEADER = ('model', 'term', 'coefficient', 'p_value', 'significant')


class Study(app.Fails, lister.Lister):
    """Print the effects of one workload's parameters on its latency.

    TARGET is as for build, or the dataset of a finished study, NAME.jsonl.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        measuring.add_arguments(parser)
        design_options.add_arguments(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        # Fails before hours of measuring where it is not installed.
        from serifos.lab.study import study
        target = parsed_args.target
        if target.endswith('.jsonl') and not target.startswith('file:'):
            path: pathlib.Path | None = pathlib.Path(target)
        else:
            path = measuring.measure(
                parsed_args, design_options.study(parsed_args))
        if path is None:
            return (), ()
        return HEADER, _rows(*study.tables(documents.read_dataset(path)))


def _rows(*tables: ols.Anova) -> list[tuple[object, ...]]:
    """A row for each term of each model, its adjusted R² first."""
    found = []
    for name, anova in zip(('polynomial', 'linear'), tables):
        found.append((name, 'adj. R²', round(anova.adj_r2, 4), None, None))
        found += [
            (name, term, float(f'{value:.5g}'),
             float(f'{anova.p_values[term]:.3g}'),
             'yes' if anova.p_values[term] <= 0.05 else 'no')
            for term, value in anova.coefficients.items()]
    return found
