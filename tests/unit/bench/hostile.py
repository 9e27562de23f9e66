# SPDX-License-Identifier: Apache-2.0
"""Replies of programs that are not as they should be, for hypothesis."""

import copy
import json

from hypothesis import strategies as st

NUMBERS = st.one_of(
    st.integers(), st.floats(allow_nan=True),
    st.sampled_from([0, -1, 2 ** 63, 10 ** 400, -10 ** 400, 1e308, 1e-320]))
DEPTHS = st.sampled_from([1, 70, 400, 990, 3000])
LEAVES = st.one_of(st.none(), st.booleans(), NUMBERS, st.text(max_size=9),
                   st.sampled_from(['0', '1', '9' * 25, '٣', '-', '\x00']))
VALUES = st.recursive(
    LEAVES, lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=6)


def _places(doc, at=()):
    yield at
    steps = (doc.items() if isinstance(doc, dict) else
             enumerate(doc) if isinstance(doc, list) else ())
    for step, value in steps:
        yield from _places(value, (*at, step))


@st.composite
def _changed(draw, docs):
    doc = copy.deepcopy(draw(st.sampled_from(docs)))
    for _ in range(draw(st.integers(1, 3))):
        *path, last = draw(st.sampled_from([*_places(doc)][1:] or [(None,)]))
        if last is None:
            break
        inner = doc
        for step in path:
            inner = inner[step]
        if draw(st.booleans()):
            inner[last] = draw(VALUES)
        else:
            del inner[last]
    return doc


def texts(*docs):
    """Texts near those of documents, and others that are JSON or not."""
    whole = st.one_of(_changed(docs), VALUES).map(json.dumps)
    return st.one_of(
        whole, whole.map(lambda text: text[:-1]),
        whole.map(lambda text: text + text),
        DEPTHS.map(lambda n: '[' * n + ']' * n),
        DEPTHS.map(lambda n: '{"blockdevices": [' * n + ']}' * n),
        st.text(max_size=30), st.just(''))
