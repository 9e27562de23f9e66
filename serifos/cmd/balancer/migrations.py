# SPDX-License-Identifier: Apache-2.0
"""The migrations in a journal, as lines for people."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from serifos.balancer.achieved import moves as followed
from serifos.balancer.moving import changes
from serifos.balancer.standing import of_plans
from serifos.facts import fields
from serifos.facts.journal import Entry


def text(entries: Sequence[Entry]) -> str:
    """A line for each entry."""
    return '\n'.join(f'{entry.at}  {entry.kind:8}  {_said(entry)}'
                     for entry in entries) or 'No migration was requested yet.'


def _said(entry: Entry) -> str:
    facts = dict(entry.facts)
    volume = facts.pop('volume', '')
    if entry.kind == 'request':
        estimated_s = fields.finite(facts.get('estimated_s'))
        return (f'{volume}  {facts["source"]} -> {facts["target"]}, '
                f'{facts["size_gib"]:g} GiB, ' + (
                    '' if estimated_s is None else
                    f'estimated {estimated_s:g} s, ')
                + f'plan {facts["plan"]}')
    if entry.kind == 'outcome':
        return ''.join([
            f'{volume}  {facts["result"]} after {facts["seconds"]:g} s: '
            f'{facts["reason"]}{_rate(facts)}',
            *(f'\n    {line}' for line in of_plans.restore(entry))])
    if entry.kind == 'changed':
        said = changes.words(changes.read(facts['changes']))
        return f'{volume}  {said or "as it was before the request"}'
    if entry.kind == 'achieved':
        return f'{volume}  {followed.said(facts)}'
    return '  '.join(filter(None, [volume, ', '.join(
        f'{name} {value}' for name, value in facts.items() if value)]))


def _rate(facts: Mapping[str, Any]) -> str:
    """How long the copy took, beside the estimate, where that is known."""
    copied_s, estimated_s, rate = (fields.finite(facts.get(name)) for name in (
        'copied_s', 'estimated_s', 'mib_per_s'))
    if copied_s is None or rate is None:
        return ''
    return f', copied in {copied_s:g} s' + (
        '' if estimated_s is None else f', estimated {estimated_s:g} s'
    ) + f', {rate:g} MiB/s'
