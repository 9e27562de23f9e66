# SPDX-License-Identifier: Apache-2.0
"""Results as one HTML page that needs no other file and no network.

Charts are inline SVG, the style sheet is embedded, text is escaped. The
extra ``report`` brings matplotlib and Jinja2, which are imported only when
a page is made.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import importlib
import re
from typing import Any

from serifos import errors
from serifos.report import table

_TOOLS = ('matplotlib.figure', 'jinja2')
_STYLE = """
body { max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #1b1f24;
       background: #fff; font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.7rem; } h2 { font-size: 1.25rem; margin-top: 2.5rem; }
p { max-width: 46rem; white-space: pre-line; }
.lead { color: #4a525c; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 1rem 0;
        font: 13px/1.35 system-ui, sans-serif;
        font-variant-numeric: tabular-nums; }
caption { text-align: left; color: #4a525c; padding: .3rem 0; }
th, td { padding: .25rem .5rem; border-bottom: 1px solid #dde1e6;
         text-align: left; }
th { border-bottom: 2px solid #8c95a0; vertical-align: bottom; }
.number { text-align: right; }
td.number { white-space: nowrap; }
svg { max-width: 100%; height: auto; margin: .5rem 0; display: block; }
@media print { body { margin: 0; max-width: none; }
               section, table, svg { break-inside: avoid; } }
"""

_TEMPLATE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }}</title>
<style>{{ style }}</style>
</head>
<body>
<h1>{{ title }}</h1>
{% if lead %}<p class="lead">{{ lead }}</p>
{% endif %}
{%- for section in sections %}<section>
<h2>{{ section.heading }}</h2>
{% if section.text %}<p>{{ section.text }}</p>
{% endif %}
{%- for chart in section.charts %}{{ chart | own_ids | safe }}
{% endfor %}
{%- for table in section.tables %}<div class="wide"><table>
{% if table.caption %}<caption>{{ table.caption }}</caption>
{% endif -%}
<thead><tr>{% for name in table.header -%}
<th{% if table.rows and table.rows[0][loop.index0] is numeric
%} class="number"{% endif %}>{{ name }}</th>{% endfor -%}
</tr></thead>
<tbody>
{% for row in table.rows %}<tr>{% for cell in row -%}
<td{% if cell is numeric %} class="number"{% endif %}>{{ cell | shown }}</td>
{%- endfor %}</tr>
{% endfor %}</tbody>
</table></div>
{% endfor %}</section>
{% endfor %}</body>
</html>
"""


@dataclasses.dataclass(frozen=True)
class Section:
    """A heading, plain text, charts (``<svg>`` elements), then tables."""

    heading: str
    text: str = ''
    charts: Sequence[str] = ()
    tables: Sequence[table.Table] = ()


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


def render(title: str, lead: str, sections: Sequence[Section]) -> str:
    """The whole page.

    :raises ToolError: where Jinja2 is not installed
    """
    jinja2 = needed('jinja2')
    numbers = iter(range(1, 1 + sum(len(s.charts) for s in sections)))
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined)
    environment.filters['shown'] = table.shown
    environment.tests['numeric'] = table.is_number
    environment.filters['own_ids'] = (
        lambda text: _own_ids(text, f'chart{next(numbers)}-'))
    return environment.from_string(_TEMPLATE).render(
        title=title, lead=lead, sections=sections,
        style=environment.filters['safe'](_STYLE))


def _own_ids(text: str, prefix: str) -> str:
    # Charts share one page, so each keeps its ids apart from the others'.
    return re.sub(r'(\bid="|url\(#|href="#)', rf'\g<1>{prefix}', text)
