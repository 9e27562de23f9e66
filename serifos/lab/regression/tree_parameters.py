# SPDX-License-Identifier: Apache-2.0
"""Checks of the ``parameters`` of a model of trees, as its file has them.

Standard library only: cinder-scheduler loads this module.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from serifos import errors
from serifos.facts import fields
from serifos.lab.regression import inputs

_GREATEST, _LEAST_UNIT = 1e30, 1e-9  # what is computed of them is finite
_SPLIT = {'input', 'at_most', 'then', 'else'}


def check(kind: str, parameters: Mapping[str, Any]) -> None:
    """:raises FormatError: where they are not trees that can be used"""
    def need(fine: bool, what: str) -> None:
        if not fine:
            raise errors.FormatError(
                f'{what} in the parameters of a {kind} model; fit it again '
                'with serifos-model fit.')

    names = inputs.allowed(parameters)
    trees, within = parameters.get('trees'), parameters.get('within')
    need(isinstance(trees, list) and bool(trees) and all(
        isinstance(tree, list) and tree for tree in trees),
        'There is no list of trees, each a list of nodes,')
    need(_numbers(within, 2) and 0 <= within[0] <= within[1],
         'There are no two ends "within", neither negative,')
    for number, tree in enumerate(trees, 1):
        for index, node in enumerate(tree):
            need(_is_node(node, index, len(tree), names),
                 f'Node {index} of tree {number} is no split and no leaf')
    about = parameters.get('neighbours')
    need(about is None or _is_neighbours(about, len(names)),
         'There is no list of runs, their units, the bounds between which '
         'they may correct, how far they may be and how many are nearest in '
         'the neighbours')


def _number(value: object) -> bool:
    return fields.is_number(value, -_GREATEST, _GREATEST)


def _numbers(values: object, many: int) -> bool:
    return (isinstance(values, list) and len(values) == many
            and all(map(_number, values)))


def _is_node(node: object, index: int, many: int,
             names: Sequence[str]) -> bool:
    if not isinstance(node, dict):
        return False
    if inputs.INTERCEPT in node:
        return (set(node) <= {inputs.INTERCEPT, *names}
                and all(map(_number, node.values())))
    return (set(node) == _SPLIT and node['input'] in names
            and _number(node['at_most']) and all(
                type(node[side]) is int and index < node[side] < many
                for side in ('then', 'else')))


def _is_neighbours(about: object, width: int) -> bool:
    return (isinstance(about, dict)
            and type(about.get('nearest')) is int
            and _number(about.get('furthest', 0))
            and about.get('furthest', 0) >= 0
            and _numbers(about.get('units'), width)
            and all(unit >= _LEAST_UNIT for unit in about['units'])
            and _numbers(about.get('between'), 2)
            and 0 <= about['between'][0] <= about['between'][1]
            and isinstance(about.get('runs'), list)
            and 0 < about['nearest'] <= len(about['runs'])
            and all(_numbers(run, width + 1) for run in about['runs']))
