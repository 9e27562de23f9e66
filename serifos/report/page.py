# SPDX-License-Identifier: Apache-2.0
"""Results as one HTML page that needs no other file and no network.

Charts are inline SVG, style sheet and script are embedded, text is escaped.
The page says by its Content-Security-Policy that only its own script may run
and that nothing is loaded. The extra ``report`` brings matplotlib and Jinja2,
which are imported only when a page is made.
"""

from __future__ import annotations

import base64
import collections
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import hashlib
import importlib
from importlib import metadata
import itertools
import json
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
    'tile': ('#f3f5f7', '#1d232a'),
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


_COLUMNS = 20
"""Of a table of which some are numbers."""


def _every(column: str) -> str:
    """A selector of the columns that are numbers."""
    return ', '.join(map(column.format, range(1, _COLUMNS + 1)))


SHEET = f"""
:root {{ color-scheme: light dark; {_variables(False)} }}
@media (prefers-color-scheme: dark) {{ :root {{ {_variables(True)} }} }}
{_every('.n{0} tr > :nth-child({0})')} {{ text-align: right; }}
{_every('.n{0} td:nth-child({0})')} {{ white-space: nowrap; }}
""" + """
body { margin: 1rem; color: var(--ink); background: var(--ground);
       font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.3rem; line-height: 1.25; margin: 0 0 .3rem; }
h2 { font-size: 1.2rem; margin: 1.8rem 0 .3rem; }
p { max-width: 60rem; white-space: pre-line; margin: .5rem 0; }
.lead, .made, .caption, figcaption, .tile span, .count { color: var(--soft); }
.lead { max-width: none; }
.made { font-size: 13px; }
p.verdict { font-size: 1.15rem; border-left: .3rem solid var(--blue);
            padding-left: .8rem; }
.tiles, .answers { display: grid; gap: .8rem; margin: 1rem 0;
  grid-template-columns: repeat(auto-fit, minmax(10.5rem, 1fr)); }
.tile { background: var(--tile); border: 1px solid var(--rule);
        border-radius: .5rem; padding: .5rem .7rem;
        font-size: 14px; line-height: 1.35; }
.tile b { display: block; font-size: 1.5rem; }
.warn { border-left: .3rem solid var(--red); background: var(--tile);
        padding: .2rem .8rem; }
code { background: var(--tile); padding: .1rem .4rem; }
.answers { grid-template-columns:
             repeat(auto-fit, minmax(min(24rem, 100%), 1fr)); }
.answers dt { font-weight: 600; }
.answers dd { margin: 0; white-space: pre-line; }
.tools { position: sticky; top: 0; z-index: 2; padding: .5rem 0;
         background: var(--ground); }
section, details, #hours { scroll-margin-top: 4rem; }
.tools input { width: min(26rem, 95%); }
input, select, button { font: inherit; color: inherit; padding: .2rem .5rem;
  background: var(--ground); border: 1px solid var(--grey);
  border-radius: .3rem; }
button { cursor: pointer; }
td button, th button, .row button { padding: 0; border: 0; background: none;
                                    text-align: inherit; }
td button, .row button { color: var(--blue); text-decoration: underline;
                         white-space: nowrap; }
code + button { font-size: 13px; margin-left: .4rem; }
[aria-sort=ascending] button::after { content: " \\25b2"; }
[aria-sort=descending] button::after { content: " \\25bc"; }
.wide { overflow-x: auto; }
.caption { font-size: 14px; margin: .5rem 0 0; white-space: normal; }
table { border-collapse: collapse; margin: .3rem 0 1rem;
        font: 13px/1.35 system-ui, sans-serif;
        font-variant-numeric: tabular-nums; }
th, td { max-width: 20rem; padding: .25rem .4rem; text-align: left;
         border-bottom: 1px solid var(--rule); }
td { min-width: 2.8rem; }
th { border-bottom: 2px solid var(--grey); vertical-align: bottom;
     overflow-wrap: normal; }
tbody tr:hover { background: var(--tile); }
summary { cursor: pointer; margin: .5rem 0; }
svg { margin: .5rem 0; display: block; }
.wide > svg { min-width: 40rem; max-width: 100%; height: auto; }
svg text { fill: var(--ink); }
figure { margin: 1rem 0; }
#hours > div { font-size: 14px; display: grid; gap: 0 1.5rem;
  grid-template-columns: repeat(auto-fit, minmax(min(30rem, 100%), 1fr)); }
figcaption { font-size: 14px; max-width: 60rem; }
figure svg { overflow: visible; margin: 0; }
figure svg text { font: 12px system-ui, sans-serif;
                  font-variant-numeric: tabular-nums; }
.row { display: grid; grid-template-columns: 11rem 1fr 9.5rem;
       column-gap: 1rem; align-items: center; font-size: 14px; }
.row > :last-child { text-align: right; white-space: nowrap;
                     font-variant-numeric: tabular-nums; }
@media (max-width: 40rem) {
  .row { grid-template-columns: 1fr auto; row-gap: 0; }
  .row > svg { grid-row: 2; grid-column: 1 / 3; }
  .row.axis { display: block; } .row.axis > span { display: none; }
  table { width: max-content; }
  th, td { max-width: 12rem; }
  tr > :first-child { position: sticky; left: 0; max-width: 8rem;
                      background: var(--ground); } }
@media print { body { margin: 0; }
               section, table, svg { break-inside: avoid; } }
"""


_TOOLS = ('matplotlib.figure', 'jinja2')
_TEMPLATE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{{ policy }}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }}</title>
<style>{{ style }}</style>
</head>
<body>
<main>
<h1{% if not verdict %} class="verdict"{% endif %}>{{ title }}</h1>
{% if verdict %}<p class="verdict">{{ verdict }}</p>
{% endif %}
{%- if lead %}<p class="lead">{{ lead }}</p>
{% endif %}
{%- if warnings %}<details class="warn">
<summary>{{ warnings[0].partition(' (')[0].rstrip('.') }}\
{% if warnings[1:] %}, and {{ warnings[1:] | length }} more{% endif %}.\
</summary>
{% for warning in warnings %}<p>{{ warning }}</p>
{% endfor %}</details>
{% endif %}
{%- if tiles %}<div class="tiles">
{% for name, figure, words in tiles %}<div class="tile">{{ name }}\
<b>{{ figure }}</b><span>{{ words }}</span></div>
{% endfor %}</div>
{% endif %}
{%- if command %}<p>{{ command[0] }} <code>{{ command[1] }}</code></p>
{% endif %}
{%- if script %}<div class="tools" role="search" hidden>\
<input type="search" aria-label="Search all tables" \
placeholder="Search volume, server, project, pool"></div>
{% endif %}
{%- macro drawn(table) %}\
{% if table.caption %}<p class="caption">{{ table.caption }}</p>
{% endif -%}
<div class="wide" role="region" tabindex="0" \
aria-label="{{ numbered(table.caption or 'Table') }}">\
<table{{ table | numbers }}>
{% if table.header %}<thead><tr>{% for name in table.header -%}
{% if name %}<th scope="col">{{ name }}</th>{% else %}<td></td>{% endif %}\
{% endfor -%}
</tr></thead>
{% endif %}<tbody>
{% for row in table.rows %}<tr{% if table.hints %} \
title="{{ table.hints[loop.index0] }}"{% endif %}>{% for cell in row -%}
<td>{% if cell is command %}<code>{{ cell }}</code>{% else -%}
{{ cell | shown }}{% endif %}
{%- endfor %}
{% endfor %}</tbody>
</table></div>
{% endmacro %}
{%- macro inside(section) %}\
{% if section.text %}<p>{{ section.text }}</p>
{% endif %}
{%- for chart in section.charts %}\
{% if chart.startswith('<svg') %}<div class="wide" role="region" \
tabindex="0" aria-label="{{ numbered('Chart') }}">\
{{ chart | own_ids | safe }}</div>{% else %}{{ chart | safe }}{% endif %}
{% endfor %}
{%- if section.answers %}<dl class="answers">
{% for question, answer in section.answers %}<div><dt>{{ question }}</dt>
<dd>{{ answer }}</dd></div>
{% endfor %}</dl>
{% endif %}
{%- for table in section.tables %}{{ drawn(table) }}{% endfor %}
{%- endmacro %}
{%- for section in sections %}{% if section.folded %}<details>
<summary>{{ section.heading }}</summary>
{{ inside(section) }}</details>
{% else %}<section>
<h2>{{ section.heading }}</h2>
{{ inside(section) }}</section>
{% endif %}{% endfor %}</main>
<footer><p class="made">{{ made }}</p></footer>
{% if script %}<script>{{ script | safe }}</script>
{% endif %}</body>
</html>
"""


class Command(str):
    """A command to be copied, as a cell of a table."""


@dataclasses.dataclass(frozen=True)
class Section:
    """A heading, plain text, charts, answers, then tables.

    :param charts: ``<svg>`` elements, or figures of :mod:`.charts`
    :param answers: to questions
    :param folded: whether it is shown only when it is asked for
    """

    heading: str
    text: str = ''
    charts: Sequence[str] = ()
    tables: Sequence[table.Table] = ()
    answers: Sequence[tuple[str, str]] = ()
    folded: bool = False


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
           verdict: str = '', warnings: Sequence[str] = (),
           tiles: Sequence[tuple[str, str, str]] = (),
           command: tuple[str, str] | None = None, script: str = '') -> str:
    """The whole page; at its end is where, when and by what it was made.

    :param verdict: the result in a sentence, if the title is not that
    :param tiles: (name, figure, words) each
    :param command: words, and the command that they introduce
    :param script: of ours, which makes tables sortable and searchable
    :raises ToolError: where Jinja2 is not installed
    """
    jinja2 = needed('jinja2')
    ids, seen = itertools.count(1), collections.Counter[str]()
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined)
    environment.filters['shown'] = table.shown
    environment.filters['numbers'] = (
        lambda each: environment.filters['safe'](_numbers(each)))
    environment.tests['command'] = lambda cell: isinstance(cell, Command)
    environment.filters['own_ids'] = (
        lambda text: _own_ids(text, f'chart{next(ids)}-'))

    def numbered(name: str) -> str:
        """A name that no other region of the page has."""
        name = name.split('.')[0].replace('\n', ' ')
        seen[name] += 1
        return name if seen[name] == 1 else f'{name} {seen[name]}'

    return environment.from_string(_TEMPLATE).render(
        title=title, lead=lead, sections=sections, verdict=verdict,
        warnings=warnings, tiles=tiles, command=command, script=script,
        policy=policy(script), numbered=numbered, made=made(),
        style=environment.filters['safe'](SHEET))


def policy(script: str = '') -> str:
    """The Content-Security-Policy of a page with this script, or with none."""
    found = base64.b64encode(hashlib.sha256(script.encode()).digest())
    return "default-src 'none'; img-src data:; style-src 'unsafe-inline'" + (
        f"; script-src 'sha256-{found.decode()}'" if script else '')


def data(name: str, document: Any) -> str:
    """An element that a script reads as JSON.

    :param name: its id
    """
    text = json.dumps(document, separators=(',', ':')).replace('<', '\\u003c')
    return f'<script type="application/json" id="{name}">{text}</script>'


def _numbers(each: table.Table) -> str:
    """The class of a table: its columns of numbers only, by their place."""
    found = [f'n{place}' for place, column in enumerate(zip(*each.rows), 1)
             if all(map(table.is_number, column)) and place <= _COLUMNS
             and any(cell not in (None, '–') for cell in column)]
    return f' class="{" ".join(found)}"' if found else ''


def made() -> str:
    """Where, when and by which version a page is made."""
    return (f'Made on {socket.gethostname()} at {times.text(time.time())} by '
            f'serifos {metadata.version("serifos")}.')


def _own_ids(text: str, prefix: str) -> str:
    # Charts share one page, so each keeps its ids apart from the others'.
    return re.sub(r'(\bid="|url\(#|href="#)', rf'\g<1>{prefix}', text)
