// SPDX-License-Identifier: Apache-2.0
// Sorts and searches the tables, draws the hours of a pool, copies commands.
// Names come from tenants: they are only ever set as text.
'use strict';
const FIRST = 100;  // rows of a table that are shown before more are wanted
const COLOURS = ['ink', 'blue', 'red', 'green', 'brown', 'purple', 'grey'];
const HOUR_MS = 3600e3;
const collator = new Intl.Collator('en', {numeric: true});
const all = (what, within = document) => [...within.querySelectorAll(what)];
const make = (name, text, more = {}) => Object.assign(
  document.createElement(name), {textContent: text}, more);
const draw = (name, attributes, ...inside) => {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) {
    made.setAttribute(key, value);
  }
  made.append(...inside);
  return made;
};

const data = JSON.parse(document.getElementById('data').textContent);
const pools = new Map(Object.entries(data.pools));
const search = document.querySelector('.tools input');
const hours = document.getElementById('hours');
const state = {query: '', pool: '', hours: 24};
try {  // kept when the page is loaded again, as it is after each round
  Object.assign(state, JSON.parse(sessionStorage[location.pathname]));
} catch { /* nothing is kept yet, or ever by this browser */ }

const update = changes => {
  Object.assign(state, changes);
  try {
    sessionStorage[location.pathname] = JSON.stringify(state);
  } catch { /* the same */ }
  search.value = state.query;
  tables.forEach(show => show());
  for (const part of all('section')) {
    part.hidden = state.query && !part.querySelector('table, #hours');
  }
  drawHours();
};

// Lets a click on the name of a pool show its hours, and its rows only.
const link = cell => {
  const pool = cell.textContent;
  if (pools.has(pool) && !cell.firstElementChild) {
    cell.replaceChildren(make('button', pool, {onclick: () => {
      update({pool, query: `"${pool}"`});
      hours.scrollIntoView({block: 'nearest'});
    }}));
  }
};

// The words of the query; "in quotes" is a whole cell.
const wanted = () => (state.query.toLowerCase().match(/"[^"]*"|\S+/g) ?? [])
  .map(word => word.replace(/^"(.+)"$/, '\n$1\n'));
const said = row => row.said ??= ['', row.title, ...[...row.cells].map(
  cell => cell.textContent), ''].join('\n').toLowerCase();

const tables = all('table').filter(table => table.tHead).map(table => {
  const body = table.tBodies[0], rows = [...body.rows];
  const place = table.closest('details, section');
  const count = make('span', '', {className: 'count'});
  place.firstElementChild.append(count);
  let most = FIRST;
  const more = make('button', '', {onclick: () => {
    most = Infinity;
    show();
  }});
  table.parentElement.after(more);
  const show = () => {
    const words = wanted();
    const kept = rows.filter(row => words.every(
      word => said(row).includes(word)));
    body.replaceChildren(...kept.slice(0, most));
    all('td', body).forEach(link);
    count.textContent = words.length ? ` (${kept.length} found)` : '';
    more.hidden = kept.length <= most;
    more.textContent = `Show all ${kept.length.toLocaleString('en')} rows`;
    const found = words.length > 0 && kept.length > 0;
    place.classList.toggle('found', found);
    if (words.length) place.open = found;
  };
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const isNumber = table.classList.contains(`n${column + 1}`);
    const text = row => row.cells[column].textContent;
    const value = row => parseFloat(text(row).replaceAll(',', ''));
    head.replaceChildren(make('button', head.textContent, {onclick: () => {
      const falls = head.ariaSort ? head.ariaSort === 'ascending' : isNumber;
      for (const each of all('th', table)) each.ariaSort = null;
      head.ariaSort = falls ? 'descending' : 'ascending';
      const sign = falls ? -1 : 1;
      rows.sort(isNumber ? (a, b) =>  // what is not known is last
        isNaN(value(a)) - isNaN(value(b)) || sign * (value(a) - value(b))
        : (a, b) => sign * collator.compare(text(a), text(b)));
      show();
    }}));
  });
  return show;
});

const range = make('select', '', {ariaLabel: 'Time range', onchange: () => {
  update({hours: Number(range.value)});
}});
for (const [number, name] of [[6, '6 hours'], [24, 'day'], [168, 'week']]) {
  if (number <= Math.max(24, data.hours)) {
    range.append(make('option', `the last ${name}`, {value: number}));
  }
}
hours.firstElementChild.append(make('b', ''), ', ', range);

// What was measured of a pool and predicted, and of its busiest volumes.
const drawHours = () => {
  const [measured, predicted, volumes] = pools.get(state.pool)
    ?? [[], [], {}];
  const lines = [['measured', measured], ['predicted by its model', predicted],
                 ...Object.entries(volumes)].map(([name, line], i) => ({
    name, line: line.slice(-state.hours), look: `var(--${COLOURS[i]})`}));
  const most = Math.max(1e-3, ...lines.flatMap(({line}) => line));
  const at = ago => new Date(1000 * data.end - ago * HOUR_MS).toISOString()
    .slice(5, 16).replace('T', ' ') + ' UTC';
  const y = ms => 160 - 145 * ms / most;
  const drawn = lines.flatMap(({name, line, look}) => {
    const x = i => 100 * (1 - (line.length - i - 0.5) / state.hours);
    const known = line.flatMap((ms, i) => ms === null ? [] : [[i, ms]]);
    return known.flatMap(([i, ms]) => [
      ...(line[i - 1] ? [draw('line', {
        x1: `${x(i - 1)}%`, y1: y(line[i - 1]), x2: `${x(i)}%`, y2: y(ms),
        style: `stroke: ${look}; stroke-width: 1.5`})] : []),
      draw('circle', {cx: `${x(i)}%`, cy: y(ms), r: 3, style: `fill: ${look}`},
           draw('title', {}, `${at(line.length - i)}: ${ms} ms, ${name}`))]);
  });
  const texts = [[0, 12, `${most} ms`], [0, 157, '0'],
                 [0, 178, at(state.hours)], ['100%', 178, at(0)]];
  const picture = draw(
    'svg', {role: 'img', 'aria-label': `${state.pool}, hour by hour`,
            width: '100%', height: 182},
    ...[y(0), y(most)].map(place => draw('line', {
      x2: '100%', y1: place, y2: place, style: 'stroke: var(--rule)'})),
    ...texts.map(([x, place, text]) => draw(
      'text', {x, y: place, 'text-anchor': x ? 'end' : 'start'}, text)),
    ...drawn);
  range.value = state.hours;
  hours.querySelector('b').textContent = state.pool;
  hours.lastElementChild.replaceChildren(...drawn.length ? [
    picture, ...lines.filter(({line}) => line.length).map(
      ({name, line, look}) => make('span', `\u25cf ${name} ${
        line.findLast(ms => ms)} ms\u2003`, {style: `color: ${look}`}))] : [
    'Nothing is recorded of it in that time; serifos-balancer run does so.']);
};

for (const command of all('code')) {
  command.after(make('button', 'Copy', {onclick: event => {
    getSelection().selectAllChildren(command);
    document.execCommand('copy');  // works without https, too
    event.target.textContent = 'Copied';
  }}));
}
all('.row > span:first-child').forEach(link);
if (!pools.has(state.pool)) {
  [state.pool] = [...all('.row > span').map(name => name.textContent),
                  ...pools.keys()];
}
search.oninput = () => {
  update({query: search.value});
  document.querySelector('.found')?.scrollIntoView();
};
search.parentElement.hidden = false;
hours.hidden = false;
update({});
