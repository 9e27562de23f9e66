// SPDX-License-Identifier: Apache-2.0
// Sorts, filters and searches tables, draws a pool's hours, copies commands.
// Names come from tenants: they are only ever set as text.
'use strict';
const FIRST = 100;  // rows of a table that are shown before more are wanted
const COLOURS = ['red', 'green', 'brown', 'purple', 'grey'];  // of volumes
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

// What a reload, as after each round, does not forget.
let state = {query: '', pool: '', hours: 24};
try {
  Object.assign(state, JSON.parse(sessionStorage.serifos ?? '{}'));
} catch { /* a browser that keeps nothing */ }
const keep = () => {
  try { sessionStorage.serifos = JSON.stringify(state); } catch { /* same */ }
};

const data = JSON.parse(document.getElementById('data').textContent);
const pools = new Map(Object.entries(data.pools));
const search = document.querySelector('.tools input');

// The words of a query; "in quotes" is a whole cell.
const wanted = () => (state.query.toLowerCase().match(/"[^"]*"|\S+/g) ?? [])
  .map(word => word.replace(/^"(.+)"$/, '\n$1\n'));
const said = row => row.said ??= ['', row.title, ...[...row.cells].map(
  cell => cell.textContent), ''].join('\n').toLowerCase();

const linked = (cell, text) => {
  if (pools.has(text)) {
    cell.replaceChildren(make('button', text, {onclick: () => {
      Object.assign(state, {pool: text, query: `"${text}"`});
      search.value = state.query;
      update();
      hours.scrollIntoView({block: 'nearest'});
    }, title: `The last hours of ${text}, and its volumes`}));
  }
};

const tables = all('table').filter(table => table.tHead).map(table => {
  const body = table.tBodies[0], rows = [...body.rows];
  const place = table.closest('details, section');
  const count = place.firstElementChild.appendChild(
    make('span', '', {className: 'count'}));
  const more = make('button', '', {onclick: () => {
    most = Infinity;
    show();
  }});
  let most = FIRST;
  table.parentElement.after(more);
  const value = (row, column) => {
    const text = row.cells[column].textContent;
    const number = parseFloat(text.replaceAll(',', ''));
    return table.classList.contains(`n${column + 1}`) ? number : text;
  };
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const number = table.classList.contains(`n${column + 1}`);
    head.replaceChildren(make('button', head.textContent, {onclick: () => {
      const falls = (head.ariaSort ?? (number ? 'ascending' : 'descending'))
        === 'ascending';
      for (const each of all('th', table)) each.ariaSort = null;
      head.ariaSort = falls ? 'descending' : 'ascending';
      rows.sort((one, other) => {
        const [a, b] = [value(one, column), value(other, column)];
        const order = number ? a - b : collator.compare(a, b);
        return Number.isNaN(order)  // what is not known is last
          ? Number.isNaN(a) - Number.isNaN(b) : falls ? -order : order;
      });
      show();
    }}));
  });
  const show = () => {
    const words = wanted();
    const kept = words.length ? rows.filter(
      row => words.every(word => said(row).includes(word))) : rows;
    const shown = kept.slice(0, most);
    for (const cell of shown.flatMap(row => [...row.cells])) {
      linked(cell, cell.textContent);
    }
    body.replaceChildren(...shown);
    count.textContent = words.length ? ` (${kept.length} found)` : '';
    more.hidden = kept.length <= most;
    more.textContent = `Show all ${kept.length.toLocaleString('en')} rows`;
    if (words.length && kept.length && place.open === false) place.open = true;
  };
  return show;
});

// A pool's hours: what was measured and predicted, and its busiest volumes.
const hours = document.getElementById('hours');
const range = make('select', '', {ariaLabel: 'Time range', onchange: () => {
  state.hours = Number(range.value);
  update();
}});
for (const [number, name] of [[6, '6 hours'], [24, 'day'], [168, 'week']]) {
  if (number <= Math.max(24, data.hours)) {
    range.append(make('option', `the last ${name}`, {value: number}));
  }
}
const drawHours = () => {
  const [measured, predicted, volumes] = pools.get(state.pool);
  const lines = [
    ['measured', measured, 'ink', 2.5, 'none'],
    ['predicted by its model', predicted, 'blue', 2, '5 3'],
    ...Object.entries(volumes).map(([name, line], i) => [
      name, line, COLOURS[i], 1.2, 'none'])]
    .map(([name, line, ...look]) => [name, line.slice(-state.hours), ...look]);
  const most = 1.05 * Math.max(1e-3, ...lines.flatMap(line => line[1]));
  const x = (line, i) => 100 * (
    1 - (line.length - i - 0.5) / state.hours);
  const time = ago => new Date(
    1000 * data.end - ago * HOUR_MS).toISOString().slice(5, 16)
    .replace('T', ' ') + ' UTC';
  const texts = [[0, 'start'], [0.5, 'middle'], [1, 'end']].map(
    ([at, anchor]) => draw('text', {x: `${100 * at}%`, y: 178,
                                    'text-anchor': anchor},
                           time((1 - at) * state.hours)));
  const marks = [0, 0.5, 1].flatMap(part => [
    draw('line', {x1: 0, x2: '100%', y1: 160 - 150 * part,
                  y2: 160 - 150 * part, style: 'stroke: var(--rule)'}),
    draw('text', {x: 2, y: 157 - 150 * part}, part ? `${
      (most * part).toPrecision(3)} ms` : '0')]);
  const drawn = lines.flatMap(([name, line, colour, width, dash]) => [
    draw('svg', {viewBox: '0 0 100 100', preserveAspectRatio: 'none', y: 10,
                 width: '100%', height: 150}, draw('path', {
      d: line.map((ms, i) => ms === null ? '' : `${
        i && line[i - 1] !== null ? 'L' : 'M'}${x(line, i)} ${
        100 - 100 * ms / most}`).join(''),
      style: `fill: none; stroke: var(--${colour}); stroke-width: ${width}; `
        + `stroke-dasharray: ${dash}; vector-effect: non-scaling-stroke`})),
    ...line.map((ms, i) => ms === null ? '' : draw('circle', {
      cx: `${x(line, i)}%`, cy: 160 - 150 * ms / most, r: 3,
      style: `fill: var(--${colour})`}, draw('title', {}, `${
      time(line.length - i)}: ${ms} ms, ${name}`)))]);
  if (!lines.some(line => line[1].length)) {
    hours.querySelector('div').replaceChildren(
      'Nothing is recorded of it in that time; serifos-balancer run does so.');
    return;
  }
  hours.querySelector('div').replaceChildren(
    draw('svg', {role: 'img', width: '100%', height: 182, 'aria-label': `${
      state.pool}, hour by hour`}, ...marks, ...drawn, ...texts),
    ...lines.map(([name, line, colour]) => make('span', `\u25cf ${name}${
      line.length ? ` ${line.findLast(ms => ms)} ms` : ': nothing recorded'
    }\u2003`, {style: `color: var(--${colour})`})));
};

const update = () => {
  keep();
  tables.forEach(show => show());
  range.value = state.hours;
  hours.querySelector('b').textContent = state.pool;
  drawHours();
};

for (const command of all('code')) {
  command.after(make('button', 'Copy', {onclick: event => {
    getSelection().selectAllChildren(command);
    document.execCommand('copy');  // works without https, too
    event.target.textContent = 'Copied';
  }}));
}
all('.row > span:first-child').forEach(
  name => linked(name, name.textContent));
if (!pools.has(state.pool)) {
  state.pool = document.querySelector('.row > span')?.textContent;
}
if (!pools.has(state.pool)) [state.pool] = pools.keys();
hours.querySelector('figcaption').append(make('b', ''), ', ', range);
search.value = state.query;
search.oninput = () => {
  state.query = search.value;
  update();
};
search.parentElement.hidden = false;
hours.hidden = !state.pool;
if (state.pool) update();
