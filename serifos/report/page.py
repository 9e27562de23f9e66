# SPDX-License-Identifier: Apache-2.0
"""Results as one HTML page that needs no other file and no network.

Charts are inline SVG, the style sheet is embedded, text is escaped. The
extra ``report`` brings matplotlib and Jinja2, which are imported only when
a page is made.
"""

from __future__ import annotations

import collections
from collections.abc import Mapping
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
from serifos.report import table

COLOURS: Mapping[str, tuple[str, str]] = {
    'ink': ('#1b1f24', '#e6e9ed'), 'soft': ('#4a525c', '#b3bcc6'),
    'ground': ('#ffffff', '#14181d'), 'rule': ('#dde1e6', '#333b45'),
    'band': ('#cfe0f0', '#29435c'), 'grey': ('#6b747e', '#98a2ad'),
    'blue': ('#0072b2', '#56b4e9'), 'red': ('#c04f00', '#ff9a57'),
    'green': ('#00795a', '#2fc79a'), 'purple': ('#9c4f86', '#e6a3cb'),
    'brown': ('#8a5a00', '#e69f00'), 'pale': ('#b9c3ce', '#4f5a66')}
"""Name → on white, on a dark ground."""

SERIES = ('grey', 'red', 'blue', 'green', 'brown', 'purple', 'ink', 'soft')
"""The order in which charts of several lines take them."""


def colour(name: str) -> str:
    """One of :data:`COLOURS`, as CSS and SVG take it in a ``style``."""
    return f'var(--{name})'


def themed(svg: str) -> str:
    """A drawing whose colours on white become those of either ground."""
    for name, (light, _) in COLOURS.items():
        svg = svg.replace(light, colour(name))
    return svg


def _variables(dark: bool) -> str:
    return ' '.join(f'--{name}: {pair[dark]};'
                    for name, pair in COLOURS.items())


SHEET = f"""
:root {{ color-scheme: light dark; {_variables(False)} }}
@media (prefers-color-scheme: dark) {{ :root {{ {_variables(True)} }} }}
""" + """
body { max-width: 64rem; margin: 1.5rem auto; padding: 0 1rem;
       color: var(--ink); background: var(--ground);
       font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.25; }
h2 { font-size: 1.25rem; margin-top: 2.5rem; }
p { max-width: 48rem; white-space: pre-line; }
.lead, .made, .caption, figcaption, summary { color: var(--soft); }
.made { font-size: 13px; }
.verdict { font-size: 1.15rem; border-left: .3rem solid var(--blue);
           padding-left: .8rem; }
.answers dt { font-weight: 600; margin-top: .8rem; }
.answers dd { margin: 0; max-width: 48rem; white-space: pre-line; }
.wide { overflow-x: auto; }
.caption { font-size: 14px; margin: 1rem 0 0; white-space: normal; }
table { border-collapse: collapse; margin: .3rem 0 1rem; width: max-content;
        font: 13px/1.35 system-ui, sans-serif; overflow-wrap: normal;
        font-variant-numeric: tabular-nums; }
th, td { max-width: 20rem; padding: .25rem .5rem; text-align: left;
         border-bottom: 1px solid var(--rule); }
th { border-bottom: 2px solid var(--grey); vertical-align: bottom; }
.number { text-align: right; }
td.number { white-space: nowrap; }
summary { cursor: pointer; margin: .5rem 0; }
svg { margin: .5rem 0; display: block; }
.wide > svg { min-width: 40rem; max-width: 100%; height: auto; }
svg text { fill: var(--ink); }
figure { margin: 1rem 0; }
figcaption { font-size: 14px; max-width: 48rem; }
figure svg { overflow: visible; margin: 0; }
figure svg text { font: 12px system-ui, sans-serif;
                  font-variant-numeric: tabular-nums; }
.row { display: grid; grid-template-columns: 11rem 1fr 9.5rem;
       column-gap: 1rem; align-items: center; font-size: 14px; }
.row > :last-child { text-align: right; white-space: nowrap;
                     font-variant-numeric: tabular-nums; }
.row.reasons { grid-template-columns: 22rem 1fr 9.5rem; }
.panels { display: grid; gap: 1rem 2rem; margin: 1rem 0;
          grid-template-columns: repeat(auto-fill, minmax(17rem, 1fr)); }
.panels figure { margin: 0; }
@media (max-width: 40rem) {
  .row, .row.reasons { grid-template-columns: 1fr auto; row-gap: 0; }
  .row > svg { grid-row: 2; grid-column: 1 / 3; }
  .row.axis { display: block; } .row.axis > span { display: none; } }
@media print { body { margin: 0; max-width: none; }
               section, table, svg { break-inside: avoid; } }
"""


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

    :param charts: ``<svg>`` elements, or figures of :mod:`.charts`
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
        style=environment.filters['safe'](SHEET))


def made() -> str:
    """Where, when and by which version a page is made."""
    return (f'Made on {socket.gethostname()} at {times.text(time.time())} by '
            f'serifos {metadata.version("serifos")}.')


def _own_ids(text: str, prefix: str) -> str:
    # Charts share one page, so each keeps its ids apart from the others'.
    return re.sub(r'(\bid="|url\(#|href="#)', rf'\g<1>{prefix}', text)
