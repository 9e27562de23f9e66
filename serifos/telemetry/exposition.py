# SPDX-License-Identifier: Apache-2.0
"""Parser of the Prometheus text format, within bounds.

prometheus_client reads it. It is given only the lines of wanted names, no
more and no longer ones than a large host has, since what it takes grows
faster than the length of a hostile line; the rest may be anything.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import re

from prometheus_client import parser

MOST_LINES = 70_000
"""Lines of wanted names: an LV has seven, so that is 10,000 of them."""

MOST_BYTES = 4096
"""Of such a line."""

_NO_FLOAT = re.compile(r'(?<=[\s}])[0-9]{309,}')
"""A figure of so many digits, at which the parser ends with an error."""


@dataclasses.dataclass(frozen=True, slots=True)
class MetricSample:
    """A sample: name, labels and value."""

    name: str
    labels: Mapping[str, str]
    value: float


def samples(data: bytes, wanted: Collection[str]) -> list[MetricSample]:
    """The samples of these names, in their order.

    :param data: what an exporter answered, UTF-8
    :raises ValueError: with a clause, where such a line is not a sample, or
        there are too many
    """
    lines = re.compile(rb'^(?:%s)(?![\w:]).*' % b'|'.join(
        name.encode() for name in wanted), re.MULTILINE)
    found: list[MetricSample] = []
    for line in lines.finditer(data):
        size = line.end() - line.start()
        if size > MOST_BYTES:
            raise ValueError(f'a line of {size} bytes')
        if len(found) == MOST_LINES:
            raise ValueError(f'more than {MOST_LINES} lines of disks')
        found.append(_sample(line[0].decode(errors='replace').rstrip('\r')))
    return found


def _sample(line: str) -> MetricSample:
    line = _NO_FLOAT.sub('+Inf', line)
    try:
        family, = parser.text_string_to_metric_families(f'{line}\n')
        sample, = family.samples
        return MetricSample(sample.name, sample.labels, float(sample.value))
    except Exception:  # it raises what its own steps happen to raise
        raise ValueError(f'the line {line[:80]!r} is not a sample') from None
