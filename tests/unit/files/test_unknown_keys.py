# SPDX-License-Identifier: Apache-2.0
"""Documents of a newer release, whose unknown keys are ignored."""

import dataclasses
import functools
import json

import ddt
from hypothesis import given
from hypothesis import HealthCheck
from hypothesis import settings
from hypothesis import strategies

from serifos.facts.journal import Entry
from serifos.files import documents
from serifos.lab.relative.relation import Relation
from serifos.lab.relative.relation import RELATION_SCHEMA
from serifos.lab.screening import journal as screening
from serifos.telemetry import ring
from tests.fuzz import files
from tests.unit import case

NEW = 'of_a_newer_release'

VALUES = strategies.none() | strategies.booleans() | strategies.integers(
    -9, 9) | strategies.text(
    max_size=9) | strategies.sampled_from(([{}, 1],
                                           {'before': 1, 'x': {'y': []}}))

DATA = {'range', 'latency_us', 'mre_by_count', 'tenant_mre_by_count',
        'mre_by_kind', 'adj_r2', 'levels', 'held', 'varied', 'volumes',
        'same_pool', 'different_pool'}
"""Objects whose keys are data, such as pools, and no names of the format."""

TERMS = {'parameters', 'tree', 'response'}
"""What is predicted by: a term that is not known must not be left out."""


def places(value, path=()):
    """The paths to the objects inside that have names of the format."""
    if isinstance(value, dict) and not TERMS.intersection(path[-1:]):
        if not DATA.intersection(path[-1:]):
            yield path
        for key, its in value.items():
            yield from places(its, (*path, key))
    elif isinstance(value, list):
        for number, its in enumerate(value):
            yield from places(its, (*path, number))


def added(value, path, new):
    """The same with an unknown key in the object at a path."""
    if not path:
        return {**value, NEW: new}
    key, *rest = path
    if isinstance(value, list):
        return [added(its, rest, new) if number == key else its
                for number, its in enumerate(value)]
    return {**value, key: added(value[key], rest, new)}


def without(value):
    """What was read, as JSON, but for the unknown key."""
    if dataclasses.is_dataclass(value):
        value = dataclasses.asdict(value)
    if isinstance(value, dict):
        return {key: without(its) for key, its in value.items() if key != NEW}
    return [*map(without, value)] if isinstance(value, (list, tuple)) else (
        value)


def relation(path):
    return documents.read_document(
        path, 'relation', RELATION_SCHEMA, Relation.from_json)


def entries(path):
    return [Entry.from_json(json.loads(line))
            for line in path.read_text().splitlines()[1:]]


READERS = {
    'cluster': (documents.read_cluster,),
    'dataset': (documents.read_dataset,), 'journal': (entries,),
    'model': (documents.read_model,), 'plan': (documents.read_plan,),
    'pools': (documents.read_pools,),
    'relation': (relation,),
    'ring': (lambda path: ring.Ring(path.parent, 600).read(),),
    'screening': (screening.read,)}


@functools.cache
def examples(kind):
    """Each example of a kind: its lines, and the places in them."""
    found = []
    for seed in files.seeds(kind):
        lines = (seed,) if kind not in (
            'dataset', 'journal', 'ring', 'screening') else seed.splitlines()
        docs = [json.loads(line) for line in lines]
        found.append((docs, [*places(docs)]))
    return found


@ddt.ddt
class UnknownKeysTest(case.DirectoryCase):

    def read(self, reader, docs):
        path = self.dir / 'telemetry.jsonl'
        path.write_text(''.join(f'{json.dumps(doc)}\n' for doc in docs))
        return without(reader(path))

    @ddt.data(*READERS)
    def test_it_is_read_as_before(self, kind):
        @settings(max_examples=30, deadline=None,
                  suppress_health_check=[HealthCheck.too_slow])
        @given(strategies.data())
        def check(data):
            docs, where = data.draw(strategies.sampled_from(examples(kind)))
            more = added(docs, data.draw(strategies.sampled_from(where)),
                         data.draw(VALUES))
            for reader in READERS[kind]:
                self.assertEqual(self.read(reader, docs),
                                 self.read(reader, more))
        check()
