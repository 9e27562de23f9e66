// SPDX-License-Identifier: Apache-2.0
// Sorts and searches the tables, draws the hours of a pool, copies commands.
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

// Lines over the hours, the last one last; [name, figures, colour] each.
const chart = (what, unit, every) => {
  const lines = every.map(([name, line, colour]) => (
    {name, line: line.slice(-state.hours), look: `var(--${colour})`}))
    .filter(({line}) => line.length);
  const most = Math.max(1e-3, ...lines.flatMap(({line}) => line));
  const at = ago => new Date(1000 * data.end - ago * HOUR_MS).toISOString()
    .slice(5, 16).replace('T', ' ') + ' UTC';
  const y = figure => 130 - 115 * figure / most;
  const drawn = lines.flatMap(({name, line, look}) => {
    const x = i => `${100 * (1 - (line.length - i - 0.5) / state.hours)}%`;
    return line.flatMap((figure, i) => figure === null ? [] : [
      ...(line[i - 1] ? [draw('line', {
        x1: x(i - 1), y1: y(line[i - 1]), x2: x(i), y2: y(figure),
        style: `stroke: ${look}; stroke-width: 1.5`})] : []),
      draw('circle', {cx: x(i), cy: y(figure), r: 3, style: `fill: ${look}`},
           draw('title', {}, `${at(line.length - i)}: ${figure} ${unit}, ${
             name}`))]);
  });
  const texts = [[0, 12, `${most} ${unit}`], [0, 127, '0'],
                 [0, 148, at(state.hours)], ['100%', 148, at(0)]];
  const picture = draw(
    'svg', {role: 'img', 'aria-label': `${state.pool}: ${what}`,
            width: '100%', height: 152},
    ...[y(0), y(most)].map(place => draw('line', {
      x2: '100%', y1: place, y2: place, style: 'stroke: var(--rule)'})),
    ...texts.map(([x, place, text]) => draw(
      'text', {x, y: place, 'text-anchor': x ? 'end' : 'start'}, text)),
    ...drawn);
  const legend = lines.map(({name, line, look}) => make(
    'span', `\u25cf ${name} ${line.findLast(figure => figure)} ${unit}\u2003`,
    {style: `color: ${look}`}));
  const whole = make('div', '');
  whole.append(make('p', what), picture, ...legend);
  return drawn.length ? [whole] : [];
};

const drawHours = () => {
  const [measured, predicted, volumes] = pools.get(state.pool)
    ?? [[], [], {}];
  const charts = [
    ...chart('Latency of its volumes, the mean', 'ms', [
      ['measured', measured, 'ink'],
      ['predicted by its model', predicted, 'blue']]),
    ...chart('Load of its busiest volumes, I/Os outstanding', 'I/Os',
             Object.entries(volumes).map(([name, line], i) => (
               [name, line, COLOURS[i]])))];
  range.value = state.hours;
  hours.querySelector('b').textContent = state.pool;
  hours.lastElementChild.replaceChildren(...charts.length ? charts : [
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
