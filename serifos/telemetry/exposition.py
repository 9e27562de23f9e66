# SPDX-License-Identifier: Apache-2.0
"""The text that an exporter answers with, read line by line.

Prometheus's text format: ``NAME{LABEL="VALUE",...} FIGURE [TIMESTAMP]``.
Only lines of wanted names are looked at; the rest may be anything. What is
read takes time that grows with its length and no faster.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import re

MOST_LINES = 70_000
"""Lines of wanted names: an LV has seven, so that is 10,000 of them."""

MOST_BYTES = 4096
"""Of such a line."""

_NAME = re.compile(r'[a-zA-Z_:][\w:]*', re.ASCII)
_LABEL = re.compile(
    r'[ \t]*([a-zA-Z_]\w*)[ \t]*=[ \t]*"((?:[^"\\]|\\.)*)"[ \t]*(?:,|\Z)',
    re.ASCII)
_ESCAPED = re.compile(r'\\(.)')


@dataclasses.dataclass(frozen=True, slots=True)
class Sample:
    """One line of an exposition, whoever handed it over."""

    name: str
    labels: Mapping[str, str]
    value: float


def samples(data: bytes, wanted: Collection[str]) -> list[Sample]:
    """The samples of these names, in their order.

    :param data: what an exporter answered, UTF-8
    :raises ValueError: with a clause, where such a line is no sample, or
        there are too many
    """
    names = frozenset(wanted)
    lines = re.compile(rb'^(?:%s).*' % b'|'.join(
        name.encode() for name in wanted), re.MULTILINE)
    found: list[Sample] = []
    for line in lines.finditer(data):
        size = line.end() - line.start()
        if size > MOST_BYTES:
            raise ValueError(f'a line of {size} bytes')
        sample = _sample(line[0].decode(errors='replace'))
        if sample.name in names:
            found.append(sample)
            if len(found) > MOST_LINES:
                raise ValueError(
                    f'more than {MOST_LINES} lines of disks')
    return found


def _sample(line: str) -> Sample:
    name, brace, rest = line.partition('{')
    if brace:
        labels, brace, rest = rest.rpartition('}')
    else:
        (name, *rests), labels = line.split(None, 1), ''
        rest = ' '.join(rests)
    try:
        value, *stamp = rest.split()
        if not _NAME.fullmatch(name.rstrip()) or len(stamp) > 1:
            raise ValueError
        return Sample(name.rstrip(), dict(_labels(labels)), float(value))
    except ValueError:
        raise ValueError(f'the line {line[:80]!r} is no sample') from None


def _labels(text: str) -> Iterator[tuple[str, str]]:
    """:raises ValueError: where they are none, or one is there twice"""
    seen, end, text = set(), 0, text.rstrip()
    while end < len(text):
        label = _LABEL.match(text, end)
        if label is None or label[1] in seen:
            raise ValueError
        seen.add(label[1])
        end = label.end()
        value = label[2]
        yield label[1], (_ESCAPED.sub(_unescaped, value)
                         if '\\' in value else value)


def _unescaped(escaped: re.Match[str]) -> str:
    return '\n' if escaped[1] == 'n' else escaped[1]
