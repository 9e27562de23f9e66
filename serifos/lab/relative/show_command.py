# SPDX-License-Identifier: Apache-2.0
"""serifos-model show: a model or a relation."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from collections.abc import Sequence
import math
from typing import Any

from serifos.cmd.model import fit as model_fit
from serifos.cmd import output
from serifos.files import atomic
from serifos.files import documents
from serifos.lab.relative.relation import Relation
from serifos.lab.relative.relation import RELATION_SCHEMA
from serifos.lab.relative.relation import rules
from serifos.lab.relative.relation import Tree

_QUESTIONS = 2
"""Of a tree, that a table shows without --all."""


class Show(model_fit.Show):
    """Print a model, its terms and its error, or a relation."""

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        text = atomic.read_text(parsed_args.model, 'model')
        if atomic.kind_said(text.encode(errors='replace')) != 'relation':
            return super().take_action(parsed_args)
        relation = documents.read_document(
            parsed_args.model, 'relation', RELATION_SCHEMA,
            Relation.from_json)
        all_of_it = parsed_args.formatter != 'table' or parsed_args.columns
        facts = dict(_summary(relation, math.inf if (
            all_of_it or parsed_args.all) else _QUESTIONS))
        return zip(*(facts if all_of_it else output.folded(facts)).items())


def _summary(relation: Relation, questions: float
             ) -> Iterator[tuple[str, Any]]:
    for name, device in (('from', relation.source), ('to', relation.target)):
        yield name, output.named({key: value for key, value in device.items()
                                 if value is not None})
    yield 'runs', relation.runs
    for figure, factor in relation.factors.items():
        yield f'{figure}_error', output.percent(factor.error)
        yield f'{figure}_interval', output.Cell(
            [*factor.interval], ' to '.join(
                f'{100 * end:+.1f} %' for end in factor.interval))
    for figure, factor in relation.factors.items():
        yield from _rows(f'{figure}, to / from', factor.tree, questions)
    yield from _rows('share of its time that it waits', relation.response,
                     questions)


def _rows(what: str, tree: Tree, questions: float
          ) -> Iterator[tuple[str, output.Cell]]:
    """A row for each branch."""
    for where, leaves in rules(tree, questions):
        yield f'{what}: {where}', output.Cell(
            [min(leaves), max(leaves)], _range(leaves))


def _range(leaves: Sequence[float]) -> str:
    """The range of the leaves of a branch."""
    if len(leaves) == 1:
        return f'{leaves[0]:.3g}'
    return (f'{min(leaves):.3g} to {max(leaves):.3g}, '
            f'{len(leaves)} leaves')
