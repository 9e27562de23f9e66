# SPDX-License-Identifier: Apache-2.0
"""Models, clusters, plans and datasets as files, validated by schema.

A reader refuses what is not of its schema, naming the version it knows.
Files are replaced atomically.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
import contextlib
import encodings.unicode_escape  # noqa: F401  before root drops its rights
import functools
import hashlib
from importlib import resources
import json
import mmap
import os
import pathlib
from typing import Any
from typing import TypeVar

import fastjsonschema

from serifos import errors
from serifos.facts import cluster
from serifos.facts.cluster import Cluster
from serifos.facts.cluster import CLUSTER_SCHEMA
from serifos.facts.cluster import Volume
from serifos.facts.dataset import Dataset
from serifos.facts.dataset import DATASET_SCHEMA
from serifos.facts.dataset import Header
from serifos.facts.dataset import PAGE_CACHE
from serifos.facts.dataset import Sample
from serifos.facts import fields
from serifos.facts import names
from serifos.facts.pools import Pools
from serifos.facts.pools import POOLS_SCHEMA
from serifos.facts import strict_json
from serifos.files import atomic
from serifos.files import jsonl
from serifos.model.model import Model
from serifos.model.model import MODEL_SCHEMA
from serifos.plan.plan import Plan
from serifos.plan.plan import PLAN_SCHEMA

T = TypeVar('T')

_REMEDY = 'fix the file, or make it again'

BROKEN = (ArithmeticError, LookupError, RecursionError, TypeError,
          ValueError)
"""What the reading of a file may raise that a program wrote wrong."""

_VOLUME_BYTES = 2 ** 18


def read_model(path: str | os.PathLike[str]) -> Model:
    """:raises InputError: where the file is missing or not a model"""
    return read_document(path, 'model', MODEL_SCHEMA, Model.from_json)


def write_model(path: str | os.PathLike[str], model: Model) -> None:
    write_json(path, model.to_json())


def model_stems(directory: str | os.PathLike[str]) -> frozenset[str]:
    """The stems of the files there; none where there is no directory."""
    try:
        found = os.listdir(directory)
    except OSError:
        return frozenset()
    return frozenset(
        stem for stem, ending in map(os.path.splitext, found)
        if ending == '.json' and names.model_fault(stem) is None)


def latency_model(directory: str | os.PathLike[str], stem: str) -> Model:
    """The model of latency with this name.

    :raises InputError: where there is none; the sentence names the file
    """
    why = names.model_fault(stem)
    if why is not None:
        raise errors.InputError(
            f'{fields.shown(stem)} cannot be a model of {directory}: its name '
            f'{why}.')
    path = pathlib.Path(directory, f'{stem}.json')
    try:
        model = read_model(path)
    except BROKEN as exc:
        raise errors.FormatError(f'{path} cannot be used: {exc!r}.') from None
    if not model.predicts.endswith('_us'):
        raise errors.InputError(
            f'{path} predicts {model.predicts}, which is not a latency in µs.')
    return model


def latency_models(directory: str | os.PathLike[str], wanted: Iterable[str]
                   ) -> tuple[dict[str, Model], dict[str, str]]:
    """The models with these names, and why not the others, each by name.

    A file that cannot be used concerns only the pools that name it: they are
    pools without a model.
    """
    models, broken = {}, {}
    for stem in sorted(wanted):
        try:
            models[stem] = latency_model(directory, stem)
        except errors.SerifosError as exc:
            broken[stem] = str(exc)
    return models, broken


def read_cluster(path: str | os.PathLike[str]) -> Cluster:
    """:raises InputError: where the file is missing or not a cluster"""
    return read_document(
        path, 'cluster', CLUSTER_SCHEMA, Cluster.from_json)


def write_cluster(path: str | os.PathLike[str], cluster: Cluster) -> None:
    write_json(path, cluster.to_json(), _in_lines)


def read_pools(path: str | os.PathLike[str]) -> Pools:
    """:raises InputError: where the file is missing or not of pools"""
    return read_document(path, 'pools', POOLS_SCHEMA, Pools.from_json)


def write_pools(path: str | os.PathLike[str], pools: Pools) -> None:
    write_json(path, pools.to_json(), _in_lines)


def find_volume(path: str | os.PathLike[str],
                volume_id: str) -> Volume | None:
    """One volume of a cluster's file, None where it cannot be found there.

    The file is searched as bytes, and only that volume is parsed: of 100,000
    volumes in less than 20 ms.
    """
    key = f'"id": {json.dumps(volume_id)}'.encode()
    with contextlib.suppress(*BROKEN, OSError, errors.SerifosError), (
            atomic.open_text(path, 'cluster')) as file, mmap.mmap(
                file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        at = text.find(key)
        begin = text.rfind(b'{', 0, at) if at > 0 else len(text)
        doc, _ = json.JSONDecoder().raw_decode(
            text[begin:begin + _VOLUME_BYTES].decode(errors='ignore'))
        if fault('cluster', doc, 'volumes') is None:
            return cluster.volume(doc)
    return None


def read_plan(path: str | os.PathLike[str]) -> Plan:
    """:raises InputError: where the file is missing or not a plan"""
    return read_document(path, 'plan', PLAN_SCHEMA, Plan.from_json)


def write_plan(path: str | os.PathLike[str], plan: Plan) -> None:
    """A plan, validated on its way out: other programs read it."""
    write_json(path, _checked(path, 'plan', plan.to_json()), _in_lines)


def read_dataset(path: str | os.PathLike[str],
                 cached: bool = False) -> Dataset:
    """The dataset in a file.

    :param cached: whether its runs may have passed the page cache: no model
        of a device comes from those
    :raises InputError: where a line is cut short, broken or not ours
    """
    text = atomic.read_text(path, 'dataset')
    if text.startswith('{\n') or '\n' not in text:
        _refuse_of_another(path, text, DATASET_SCHEMA)
    headers, samples = [], []
    for where, doc in jsonl.parse(text, path, _REMEDY):
        if not headers or 'schema' in doc:
            _schema(where, doc, DATASET_SCHEMA)
            _checked(where, 'dataset', doc)
            headers.append(Header.from_json(doc))
        else:
            _checked(where, 'run', doc)
            samples.append(_sample(where, doc))
    if not headers:
        raise errors.FormatError(
            f'{path} is empty; it should begin with a header of schema '
            f'{DATASET_SCHEMA}.')
    if not cached and any(PAGE_CACHE in one.device for one in headers):
        raise errors.InputError(
            f'The runs in {path} passed the page cache, so that they do not '
            'tell what the device does; only relate can use them, without '
            '--out. Measure the device with build.')
    try:
        return Dataset.of(headers, samples)
    except errors.InputError as exc:
        raise errors.InputError(f'{path}: {exc}') from None


def _sample(where: object, doc: Mapping[str, Any]) -> Sample:
    try:
        return Sample.from_json(doc)
    except errors.FormatError as exc:
        raise errors.FormatError(f'{where}: {exc}; {_REMEDY}.') from None


def write_dataset(path: str | os.PathLike[str], dataset: Dataset) -> None:
    """A whole dataset, or nothing of it."""
    jsonl.write(path, [
        _checked(path, 'dataset', dataset.header.to_json()),
        *(_checked(path, 'run', sample.to_json())
          for sample in dataset.samples)])


def resumed_dataset(path: str | os.PathLike[str], header: Header
                    ) -> contextlib.AbstractContextManager[None]:
    """A dataset to append to, as :func:`.jsonl.resumed`."""
    return jsonl.resumed(
        path, _checked(path, 'dataset', header.to_json()), 'build')


def append_sample(path: str | os.PathLike[str], sample: Sample) -> None:
    """One finished run, on disk before this returns."""
    jsonl.append(path, _checked(path, 'run', sample.to_json()))


def digest(path: str | os.PathLike[str]) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with open(path, 'rb') as file:
        return hashlib.file_digest(file, 'sha256').hexdigest()


def _indented(doc: Mapping[str, Any]) -> str:
    return json.dumps(doc, indent=1, allow_nan=False)


def _in_lines(doc: Mapping[str, Any]) -> str:
    """A large document: a line for each member, and each element of a list.

    It takes a quarter of the time of an indented one, and fewer bytes.
    """
    dumps = json.JSONEncoder(allow_nan=False).encode
    return '{\n' + ',\n'.join(
        f'{dumps(name)}: ' + (
            '[\n' + ',\n'.join(map(dumps, value)) + '\n]'
            if value and isinstance(value, list) else dumps(value))
        for name, value in doc.items()) + '\n}'


def write_json(path: str | os.PathLike[str], doc: Mapping[str, Any],
               as_text: Callable[[Mapping[str, Any]], str] = _indented
               ) -> None:
    """Replaces a file by a document, atomically, mode 0640.

    :raises InputError: where it cannot be written, or not be read again
    """
    text = as_text(doc)
    if '\\ud' in text:  # may be half a character, of a name not in UTF-8
        try:
            json.dumps(doc, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise errors.InputError(
                f'{path} cannot be written: a name in it is not UTF-8; give '
                'it another.') from None
    atomic.replace(path, text + '\n')


def read_document(path: str | os.PathLike[str], what: str, schema: str,
                  from_json: Callable[[Any], T]) -> T:
    """A file of one JSON document.

    :param what: model, ...: for messages, and the name of its JSON schema
    :param schema: that the document must name
    :param from_json: makes the noun of the validated document
    :raises InputError: where the file is missing or not of the schema
    """
    text = atomic.read_text(path, what)
    try:
        doc = strict_json.loads(text)
    except ValueError as exc:
        _refuse_of_another(path, text.partition('\n')[0], schema)
        raise errors.FormatError(f'{path}: {exc}; {_REMEDY}.') from None
    del text  # tens of MiB, of a large cloud
    _schema(path, doc, schema)
    _checked(path, what, doc)
    try:
        return from_json(doc)
    except errors.FormatError as exc:
        raise errors.FormatError(f'{path}: {exc}') from None
    except ValueError as exc:
        raise errors.FormatError(f'{path}: {exc}; {_REMEDY}.') from None


def _schema(where: object, doc: Any, known: str) -> None:
    if not isinstance(doc, dict) or 'schema' not in doc:
        raise errors.FormatError(
            f'{where} does not say its schema; this serifos reads {known}: '
            'name another file, or make this one again.')
    if doc['schema'] != known:
        said = _name(doc['schema'])
        if said != _name(known):
            raise errors.FormatError(
                f'{where} is a {said} ({doc["schema"]}), not a '
                f'{_name(known)}; name a {_name(known)}.')
        raise errors.FormatError(
            f'{where} is of schema {doc["schema"]}; this serifos reads '
            f'{known}: make the file again with it, or use the release that '
            'wrote it.')


def _name(schema: object) -> str:
    """'model' of 'serifos-model/1'."""
    return str(schema).partition('/')[0].removeprefix('serifos-')


def _refuse_of_another(where: object, text: str, known: str) -> None:
    """Says of what schema a text is, where it is JSON and of another."""
    with contextlib.suppress(ValueError):
        doc = strict_json.loads(text)
        if isinstance(doc, dict) and 'schema' in doc:
            _schema(where, doc, known)


def _checked(where: object, what: str, doc: T) -> T:
    why = fault(what, doc)
    if why is not None:
        raise errors.FormatError(f'{where}: {why}; {_REMEDY}.')
    return doc


def fault(what: str, doc: Any, member: str | None = None) -> str | None:
    """Why a document is not of its schema, a clause; None where it is.

    :param member: a list of the document, where ``doc`` is but one of its
        elements
    """
    try:
        _validator(what, member)(doc)
    except fastjsonschema.JsonSchemaValueException as exc:
        return exc.message.removeprefix('data.')
    return None


@functools.cache
def _validator(what: str, member: str | None) -> Callable[[Any], Any]:
    schemas = resources.files('serifos.files.schemas')
    schema = json.loads((schemas / f'{what}.json').read_text())
    parts = schema.pop('definitions', {})
    if member is not None:
        schema = {'items': schema['properties'][member]['items']}
    found = _by_element(schema, parts)
    return fastjsonschema.compile(
        {**(found if member is None else found['items']),
         'definitions': parts}, use_default=False, use_formats=False)


def _by_element(part: Any, parts: Mapping[str, Any],
                within: tuple[str, ...] | None = None) -> Any:
    """A schema whose lists have elements without references.

    Each reference would be a call for each element.

    :param parts: by their names
    :param within: the references that led here, which remain; None outside
        of lists
    """
    if isinstance(part, list):
        return [_by_element(each, parts, within) for each in part]
    if not isinstance(part, dict):
        return part
    name = part.get('$ref', '').removeprefix('#/definitions/')
    if name and within is not None and name not in within:
        return _by_element(parts[name], parts, (*within, name))
    return {key: _by_element(each, parts, (
        () if within is None and key == 'items' else within))
        for key, each in part.items()}
