# SPDX-License-Identifier: Apache-2.0
"""serifos-balancer history: migrations, and what volumes and pools did."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import time
from typing import Any

import numpy as np

from serifos.balancer import achieved_moves
from serifos.balancer import changes
from serifos.balancer import join
from serifos.balancer.plans import restore
from serifos.cmd.balancer import adapters
from serifos.cmd.balancer import configuration
from serifos.cmd.balancer import lookup
from serifos.cmd.balancer import stored_history
from serifos.cmd.balancer import verb
from serifos.cmd import listing
from serifos.cmd import options
from serifos import errors
from serifos.facts import activity
from serifos.facts.cluster import Cluster
from serifos.facts.cluster import Volume
from serifos.facts import fields
from serifos.facts import history
from serifos.facts.inventory import Inventory
from serifos.facts import journal
from serifos.facts import names
from serifos.facts import pool_errors
from serifos.facts import times
from serifos.files import atomic
from serifos.files import history_csv
from serifos.report import table
from serifos.report import wording

_MOST_DAYS, _MOST_SLOTS = 3660, 100_000

_ACTIVITIES = ('read_iops', 'write_iops', 'read_kib_s', 'write_kib_s',
               'latency_us', 'outstanding')
"""Of :class:`.facts.history.Series`, in the order in which they are shown."""

_HEADER = ('slot', 'seen', 'reads/s', 'writes/s', 'KiB read/s',
           'KiB written/s', 'ms', 'outstanding')

_AT_ONCE = 1_000_000
"""Slots of volumes that are read at once."""

_POOL_COLUMNS = 'pool', 'drifting', 'hours'
"""Of the values of a pool's document."""

_ENDS = 'source', 'target'

_OUTSIDE = {1: 'above', -1: 'below', 0: None}


class History(verb.Verb, listing.Listing):
    """Show the migrations that were requested, or what was seen over days.

    Without a VOLUME: the migrations and their outcomes. With one: its
    requests, latency and outstanding requests over the last days, in slots
    of time; where it is and how often it was migrated does not matter.
    With --out: what all volumes did, as CSV for serifos-sim backtest. With
    --pools: how far pools are from their models; of one, hour by hour.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('what', nargs='?', metavar='VOLUME',
                            help='show the activity of this volume, by its '
                            'id or name; with --pools of this pool')
        parser.add_argument('--pools', action='store_true',
                            help='show measured and predicted latencies of '
                            'pools')
        parser.add_argument('--out', metavar='FILE',
                            help='write the activity of all volumes to this '
                            'file, compressed if it ends in .gz')
        parser.add_argument('--days', type=float,
                            help='days to show, back from now (default: 1; '
                            'with --out 7)')
        parser.add_argument('--step', type=int, metavar='SECONDS',
                            help='length of a slot (default: an hour; five '
                            'minutes for less than a day, and with --out)')
        parser.add_argument('--until', metavar='TIME',
                            help='end of the activity of VOLUME, ISO 8601 '
                            '(default: now)')
        parser.add_argument('--volume', metavar='VOLUME',
                            help='show only the migrations of this volume')
        parser.add_argument('--last', type=int, default=50, metavar='N',
                            help='show the last N entries of migrations '
                            '(default: 50)')
        options.add_long(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace
                    ) -> listing.Listed:
        if parsed_args.until is not None and (
                parsed_args.what is None or parsed_args.pools):
            raise errors.InputError(
                '--until ends the activity of a VOLUME; give one with it, '
                'without --pools.')
        if parsed_args.out is not None:
            return self._write(parsed_args)
        if parsed_args.pools:
            return self._show_pools(parsed_args)
        if parsed_args.what is None:
            return self._show_migrations(parsed_args)
        parsed_args.what = self._meant(parsed_args.what)
        if parsed_args.volume is not None:
            raise errors.InputError(
                '--volume selects migrations; give it, or a VOLUME whose '
                'activity is shown, not both.')
        past = stored_history.Past.of(self.app.conf)
        found = self._activity(past, parsed_args)
        documents = _documents(found)
        return self.listed(documents, lambda: f'{_told(found, past)}\n',
                           documents, ('at', 'seconds', *_ACTIVITIES))

    def _observed(self) -> Cluster | None:
        """The last observation, which has names; None without one."""
        try:
            return configuration.cluster(self.app.conf, None)
        except errors.InputError:
            return None

    def _meant(self, said: str) -> str:
        """The id of a volume, by its name or the beginning of its id."""
        cluster = None if names.is_id(said) else self._observed()
        found = None if cluster is None else lookup.find(cluster, said)
        return found.id if isinstance(found, Volume) else said

    def _activity(self, past: stored_history.Past,
                  parsed_args: argparse.Namespace) -> history.Series:
        days = 1.0 if parsed_args.days is None else parsed_args.days
        step_s = parsed_args.step
        if step_s is None:
            step_s = 3600 if days >= 1 else 300
        end = _end(parsed_args.until)
        places = past.places(self.app.conf, {parsed_args.what: ''})
        if not places:
            raise errors.InputError(
                f'Cinder has no volume {parsed_args.what}.')
        return past.history.read(
            places, end - _seconds(days, step_s), end, step_s)

    def _write(self, parsed_args: argparse.Namespace
               ) -> listing.Listed:
        """Writes what all volumes did."""
        if (parsed_args.what, parsed_args.volume) != (None, None) or (
                parsed_args.pools):
            raise errors.InputError(
                '--out writes the activity of all volumes; give no VOLUME '
                'and no --pools with it.')
        days = 7.0 if parsed_args.days is None else parsed_args.days
        step_s = 300 if parsed_args.step is None else parsed_args.step
        seconds = _seconds(days, step_s)
        past = stored_history.Past.of(self.app.conf).history
        inventory = adapters.cinder(self.app.conf).inventory()
        said = _write(
            parsed_args.out, past, inventory, journal.last_moves(
                self.journal().entries()), seconds, step_s)
        return self.listed([], lambda: f'{said}\n', [])

    def _show_pools(self, parsed_args: argparse.Namespace
                    ) -> listing.Listed:
        """Shows the errors of pools."""
        if (parsed_args.volume, parsed_args.step) != (None, None):
            raise errors.InputError(
                '--pools shows the hours of pools; give no --volume and no '
                '--step with it.')
        days = 1.0 if parsed_args.days is None else parsed_args.days
        now, seconds = time.time(), _seconds(days, pool_errors.HOUR_S)
        achieved = stored_history.accuracy(self.app.conf)
        its = _read_pools(achieved.kept, now, now - seconds, parsed_args.what)
        of = 'pools' if parsed_args.what is None else (
            f'pool {parsed_args.what}')
        documents = [pool.document() for pool in its]
        return self.listed(
            documents, lambda: f'{_pools(its, parsed_args.what)}\n' if its
            else f'Nothing is known of {of} in that time; serifos-balancer '
            'run records measured and predicted latencies of pools.\n',
            documents, _POOL_COLUMNS)

    def _show_migrations(self, parsed_args: argparse.Namespace
                         ) -> listing.Listed:
        if parsed_args.last < 1:
            raise errors.InputError(
                f'The last {parsed_args.last} entries cannot be shown; give '
                'a number of 1 or more.')
        volume = parsed_args.volume and self._meant(parsed_args.volume)
        entries = [entry for entry in self.journal().entries()
                   if volume in (None, entry.facts.get('volume'))
                   ][-parsed_args.last:]
        documents = [entry.to_json() for entry in entries]
        return self.listed(documents, lambda: wording.lines(
            _migrations(entries, self._observed())),
                           documents, journal.Entry.names())


def _told(found: history.Series, past: stored_history.Past) -> str:
    if found.seconds.any():
        return _activities(found)
    if past.kept is not None and not past.kept.until():
        return (f'Nothing is kept yet in {past.kept.database.name}; '
                'serifos-balancer run records what volumes do.')
    return f'Nothing is known of volume {found.volumes[0]} in that time.'


def _end(until: str | None) -> float:
    """The end of what is shown, seconds of the epoch.

    :param until: ISO 8601, None for now
    :raises InputError: where it is no time
    """
    try:
        return time.time() if until is None else times.parse(until)
    except ValueError as exc:
        raise errors.InputError(
            f'--until {until} {exc}; give one such as 2027-01-15T07:00:00Z.'
        ) from None


def _seconds(days: float, step_s: int) -> float:
    """The days in seconds.

    :raises InputError: where they cannot be shown in slots of that length
    """
    if not 0 < days <= _MOST_DAYS or not (
            0 < step_s <= 86400 * days <= _MOST_SLOTS * step_s):
        raise errors.InputError(
            f'{days:g} days in slots of {step_s} s cannot be shown; '
            f'give up to {_MOST_DAYS} days and {_MOST_SLOTS} slots, none '
            'longer than that time.')
    return 86400 * days


def _documents(series: history.Series) -> list[dict[str, Any]]:
    """A document for each slot of the only volume; unknown is None."""
    columns = {name: getattr(series, name)[:, 0] for name in _ACTIVITIES}
    return [{'at': times.text(begin), 'seconds': round(float(seen), 3),
             **{name: _number(column[slot])
                for name, column in columns.items()}}
            for slot, (begin, seen) in enumerate(zip(
                series.begins, series.seconds[:, 0]))]


def _activities(series: history.Series) -> str:
    """A table with a line a slot; of a run of unseen ones the first."""
    return table.as_text(table.Table(
        _HEADER, list(_rows(series)),
        f'{series.volumes[0]}, slots of {series.step_s} s'))


def _rows(series: history.Series) -> Iterator[tuple[object, ...]]:
    unseen = False
    for doc in _documents(series):
        at, seconds, *figures = doc.values()
        if unseen and not seconds:
            continue
        unseen = not seconds
        yield at, table.percent(min(seconds / series.step_s, 1), '.0f'), *(
            value / 1e3 if name == 'latency_us' and value is not None
            else value for name, value in zip(_ACTIVITIES, figures))


def _number(value: np.float32) -> float | None:
    return None if np.isnan(value) else round(float(value), 3)


def _write(path: str, past: activity.History, inventory: Inventory,
           moved_at: Mapping[str, float], seconds: float,
           step_s: int) -> str:
    """Writes the last seconds in whole slots, without copies of migrations.

    :returns: what the file has, a sentence
    :raises InputError: where nothing is known, or it cannot be written
    :raises CloudError: where the past cannot be asked for
    """
    atomic.refuse_unwritable(path)
    places = [place for place in join.places(inventory, moved_at)
              if inventory.record_by_id[place.volume].target_of is None]
    sizes = {record.id: record.size_gib for record in inventory.records}
    end = time.time() // step_s * step_s
    each = max(1, int(_AT_ONCE * step_s / seconds))
    text, seen, known, slots = [history_csv.header()], 0, 0, 0
    for first in range(0, len(places), each):
        found = past.read(
            places[first:first + each], end - seconds, end, step_s)
        text += history_csv.lines(found, sizes)
        seen += int(found.seconds.any(axis=0).sum())
        known += int((found.seconds > 0).sum())
        slots = found.count
    if not seen:
        raise errors.InputError(
            'Nothing is known of any volume in that time, so that '
            f'{path} is not written.')
    history_csv.write(path, ''.join(text))
    return (f'{path} has {seen:,} of {len(places):,} volumes; {known:,} of '
            f'their {seen * slots:,} slots are known.')


def _migrations(entries: Sequence[journal.Entry],
                cluster: Cluster | None) -> Iterator[str]:
    """A line for each entry, with the names of a cluster."""
    if not entries:
        yield 'No migration was requested yet.'
    called = {} if cluster is None else {
        volume.id: f'{wording.name(volume.name)} ({volume.id})'
        for volume in cluster.volumes if volume.name}
    short = wording.pools_of(cluster, (
        entry.facts[end] for entry in entries for end in _ENDS
        if end in entry.facts))
    for entry in entries:
        yield f'{entry.at}  {entry.kind:8}  {_entry(entry, called, short)}'


def _entry(entry: journal.Entry, called: Mapping[str, str],
           short: Mapping[str, str]) -> str:
    """A line, or several.

    :param called: volume → its name and its id
    :param short: pool → what people call it
    """
    facts = {name: short[its] if name in _ENDS else its
             for name, its in entry.facts.items()}
    volume = facts.pop('volume', '')
    volume = called.get(volume, volume)
    if entry.kind == 'request':
        estimated_s = fields.finite(facts.get('estimated_s'))
        return (f'{volume}  {facts["source"]} → {facts["target"]}, '
                f'{facts["size_gib"]:g} GiB, ' + (
                    '' if estimated_s is None else
                    f'estimated {estimated_s:g} s, ')
                + f'plan {facts["plan"]}')
    if entry.kind == 'outcome':
        return ''.join([
            f'{volume}  {facts["result"]} after {facts["seconds"]:g} s: '
            f'{facts["reason"]}{_rate(facts)}',
            *(f'\n    {line}' for line in restore(entry))])
    if entry.kind == 'changed':
        said = changes.words(changes.read(facts['changes']))
        return f'{volume}  {said or "as it was before the request"}'
    if entry.kind == 'achieved':
        return f'{volume}  {achieved_moves.clause(facts)}'
    return '  '.join(filter(None, [volume, ', '.join(
        f'{name} {value}' for name, value in facts.items() if value)]))


def _rate(facts: Mapping[str, Any]) -> str:
    """How long the copy took, beside the estimate, where that is known."""
    copied_s, estimated_s, rate = (fields.finite(facts.get(name)) for name in (
        'copied_s', 'estimated_s', 'mib_per_s'))
    if copied_s is None or rate is None:
        return ''
    return f', copied in {copied_s:g} s' + (
        '' if estimated_s is None else f', estimated {estimated_s:g} s'
    ) + f', {rate:g} MiB/s'


@dataclasses.dataclass(frozen=True)
class _Pool:
    """One pool.

    :param hours: that are shown, the oldest first
    :param drifting: a clause, None where it does not
    """

    name: str
    hours: Sequence[pool_errors.Hour]
    drifting: str | None

    def document(self) -> dict[str, Any]:
        return {'pool': self.name,
                'drifting': self.drifting, 'hours': [
                    {'at': times.text(hour.begin), 'rounds': hour.rounds,
                     'latency_us': round(hour.mean_seen_us, 1),
                     'predicted_us': round(hour.mean_predicted_us, 1),
                     'error': round(_error(hour), 4),
                     'outside': _OUTSIDE[hour.far]} for hour in self.hours]}

    def row(self, short: Mapping[str, str]) -> tuple[object, ...]:
        return (short[self.name], len(self.hours),
                *_figures(pool_errors.together(self.hours)),
                sum(hour.far != 0 for hour in self.hours), self.drifting)


def _read_pools(kept: pool_errors.PoolErrors, now: float, begin: float,
                name: str | None) -> list[_Pool]:
    """The pools that were seen.

    :param now: seconds of the epoch
    :param begin: of what is shown
    :param name: of the only pool that is wanted, None for all
    :raises SerifosError: where they cannot be read
    """
    found = kept.hours(min(begin, now - pool_errors.PROVES_S), now)
    wanted = name and (lookup.pool(found, name) or name)
    proving = {pool: [hour for hour in hours
                      if hour.begin >= now - pool_errors.PROVES_S]
               for pool, hours in found.items()}
    return [_Pool(pool, shown, pool_errors.drifting(proving[pool], now))
            for pool, hours in sorted(found.items())
            if wanted in (None, pool) and (shown := [
                hour for hour in hours
                if hour.begin + pool_errors.HOUR_S > begin])]


def _pools(pools: Sequence[_Pool], name: str | None) -> str:
    """A table with a line a pool, or a line an hour of the only one.

    :param name: as of :func:`_read_pools`
    """
    if name is None:
        short = wording.pools(pool.name for pool in pools)
        return table.as_text(table.Table(
            ('pool', 'hours', 'measured, ms', 'predicted, ms', 'error',
             'outside', 'drifts'),
            [pool.row(short) for pool in pools],
            'Measured and predicted latencies of pools; outside: hours '
            'outside of the interval.'))
    pool, = pools
    return table.as_text(table.Table(
        ('hour', 'rounds', 'measured, ms', 'predicted, ms', 'error',
         'interval'),
        [(times.text(hour.begin), hour.rounds, *_figures(hour),
          _OUTSIDE[hour.far] or 'within') for hour in pool.hours],
        f'{pool.name}: {pool.drifting or "it does not drift"}.'))


def _figures(hour: pool_errors.Hour) -> tuple[object, ...]:
    return (hour.mean_seen_us / 1e3, hour.mean_predicted_us / 1e3,
            table.percent(_error(hour), '+.1f'))


def _error(hour: pool_errors.Hour) -> float:
    """How far the mean of what was seen is above that of predictions."""
    return hour.mean_seen_us / hour.mean_predicted_us - 1
