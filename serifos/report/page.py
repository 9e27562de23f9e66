# SPDX-License-Identifier: Apache-2.0
"""Results as one HTML page that needs no other file and no network.

Charts are inline SVG, the style sheet is embedded, text is escaped. The
extra ``report`` brings matplotlib and Jinja2, which are imported only when
a page is made.
"""

from __future__ import annotations

import collections
from collections.abc import Sequence
import dataclasses
import importlib
from importlib import metadata
import itertools
import re
import socket
import time
from typing import Any

from serifos import errors
from serifos.facts import times
from serifos.report import style
from serifos.report import table

_TOOLS = ('matplotlib.figure', 'jinja2')
_TEMPLATE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }}</title>
<style>{{ style }}</style>
</head>
<body>
<main>
<h1>{{ title }}</h1>
{% if verdict %}<p class="verdict">{{ verdict }}</p>
{% endif %}
{%- if lead %}<p class="lead">{{ lead }}</p>
{% endif %}
{%- if answers %}<dl class="answers">
{% for question, answer in answers %}<dt>{{ question }}</dt>
<dd>{{ answer }}</dd>
{% endfor %}</dl>
{% endif %}
{%- macro drawn(table) %}\
{% if table.caption %}<p class="caption">{{ table.caption }}</p>
{% endif -%}
<div class="wide" role="region" tabindex="0" \
aria-label="{{ numbered(table.caption or 'Table') }}"><table>
<thead><tr>{% for name in table.header -%}
{% if name %}<th scope="col"{% if table.rows \
and table.rows[0][loop.index0] is numeric
%} class="number"{% endif %}>{{ name }}</th>{% else %}<td></td>{% endif %}\
{% endfor -%}
</tr></thead>
<tbody>
{% for row in table.rows %}<tr>{% for cell in row -%}
<td{% if cell is numeric %} class="number"{% endif %}>{{ cell | shown }}</td>
{%- endfor %}</tr>
{% endfor %}</tbody>
</table></div>
{% endmacro %}
{%- for section in sections %}<section>
<h2>{{ section.heading }}</h2>
{% if section.text %}<p>{{ section.text }}</p>
{% endif %}
{%- for chart in section.charts %}\
{% if chart.startswith('<svg') %}<div class="wide" role="region" \
tabindex="0" aria-label="{{ numbered('Chart') }}">\
{{ chart | own_ids | safe }}</div>{% else %}{{ chart | safe }}{% endif %}
{% endfor %}
{%- for table in section.tables %}{{ drawn(table) }}{% endfor %}
{%- for table in section.folded %}<details>
<summary>{{ table.title or 'As a table' }}</summary>
{{ drawn(table) }}</details>
{% endfor %}</section>
{% endfor %}</main>
<footer><p class="made">{{ made }}</p></footer>
</body>
</html>
"""


@dataclasses.dataclass(frozen=True)
class Section:
    """A heading, plain text, charts, then tables.

    :param charts: ``<svg>`` elements, or figures of :mod:`.drawing`
    :param folded: tables that are shown when they are asked for
    """

    heading: str
    text: str = ''
    charts: Sequence[str] = ()
    tables: Sequence[table.Table] = ()
    folded: Sequence[table.Table] = ()


def check_tools() -> None:
    """Before long work whose result shall be a page.

    :raises ToolError: where matplotlib or Jinja2 is not installed
    """
    for module in _TOOLS:
        needed(module)


def needed(module: str) -> Any:
    """A module of the extra ``report``.

    :raises ToolError: where it is not installed
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        raise errors.ToolError(
            f'A report needs {module.partition(".")[0]}; install it with '
            'pip install serifos[report].') from None


def render(title: str, lead: str, sections: Sequence[Section], *,
           verdict: str = '', answers: Sequence[tuple[str, str]] = ()) -> str:
    """The whole page; at its end is where, when and by what it was made.

    :param verdict: what all of it comes to, which is read first
    :param answers: to questions
    :raises ToolError: where Jinja2 is not installed
    """
    jinja2 = needed('jinja2')
    ids, seen = itertools.count(1), collections.Counter[str]()
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined)
    environment.filters['shown'] = table.shown
    environment.tests['numeric'] = table.is_number
    environment.filters['own_ids'] = (
        lambda text: _own_ids(text, f'chart{next(ids)}-'))

    def numbered(name: str) -> str:
        """A name that no other region of the page has."""
        name = name.split('.')[0].replace('\n', ' ')
        seen[name] += 1
        return name if seen[name] == 1 else f'{name} {seen[name]}'

    return environment.from_string(_TEMPLATE).render(
        title=title, lead=lead, sections=sections, verdict=verdict,
        answers=answers, numbered=numbered, made=made(),
        style=environment.filters['safe'](style.SHEET))


def made() -> str:
    """Where, when and by which version a page is made."""
    return (f'Made on {socket.gethostname()} at {times.text(time.time())} by '
            f'serifos {metadata.version("serifos")}.')


def _own_ids(text: str, prefix: str) -> str:
    # Charts share one page, so each keeps its ids apart from the others'.
    return re.sub(r'(\bid="|url\(#|href="#)', rf'\g<1>{prefix}', text)
