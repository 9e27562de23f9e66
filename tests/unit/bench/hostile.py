# SPDX-License-Identifier: Apache-2.0
"""Replies of programs that are not as they should be, for hypothesis."""

import copy
import json

from hypothesis import strategies

NUMBERS = strategies.one_of(
    strategies.integers(), strategies.floats(allow_nan=True),
    strategies.sampled_from([0, -1, 2 ** 63, 10 ** 400, -10 ** 400, 1e308,
                             1e-320]))
DEPTHS = strategies.sampled_from([1, 70, 400, 990, 3000])
LEAVES = strategies.one_of(strategies.none(), strategies.booleans(), NUMBERS,
                           strategies.text(max_size=9),
                           strategies.sampled_from(['0', '1', '9' * 25, '٣',
                                                    '-', '\x00']))
VALUES = strategies.recursive(
    LEAVES, lambda inner: strategies.one_of(
        strategies.lists(inner, max_size=3),
        strategies.dictionaries(strategies.text(max_size=4), inner,
                                max_size=3)),
    max_leaves=6)


def _places(doc, at=()):
    yield at
    steps = (doc.items() if isinstance(doc, dict) else
             enumerate(doc) if isinstance(doc, list) else ())
    for step, value in steps:
        yield from _places(value, (*at, step))


@strategies.composite
def _changed(draw, docs):
    doc = copy.deepcopy(draw(strategies.sampled_from(docs)))
    for _ in range(draw(strategies.integers(1, 3))):
        *path, last = draw(strategies.sampled_from([*_places(doc)][1:]
                                                   or [(None,)]))
        if last is None:
            break
        inner = doc
        for step in path:
            inner = inner[step]
        if draw(strategies.booleans()):
            inner[last] = draw(VALUES)
        else:
            del inner[last]
    return doc


def texts(*docs):
    """Texts near those of documents, and others that are JSON or not."""
    whole = strategies.one_of(_changed(docs), VALUES).map(json.dumps)
    return strategies.one_of(
        whole, whole.map(lambda text: text[:-1]),
        whole.map(lambda text: text + text),
        DEPTHS.map(lambda n: '[' * n + ']' * n),
        DEPTHS.map(lambda n: '{"blockdevices": [' * n + ']}' * n),
        strategies.text(max_size=30), strategies.just(''))
