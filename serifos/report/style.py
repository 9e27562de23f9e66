# SPDX-License-Identifier: Apache-2.0
"""The style sheet of all pages, light and dark, and the colours of charts.

The colours are those of Okabe and Ito [1]_ without yellow, sky blue and
orange, which are too pale for a white ground; in the dark they are lighter.
Charts name them, so that one drawing serves both grounds.

.. [1] M. Okabe and K. Ito: Color Universal Design, 2008.
"""

from __future__ import annotations

from collections.abc import Mapping

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
