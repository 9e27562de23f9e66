# SPDX-License-Identifier: Apache-2.0
"""serifos-balancer history, recover, reapply and resume."""

from __future__ import annotations

import argparse
import time

from serifos.balancer import join
from serifos.balancer.moving import changes
from serifos.balancer import requests
from serifos.cmd.balancer import adapters
from serifos.cmd.balancer import histories
from serifos.cmd.balancer import history_file
from serifos.cmd.balancer import migrations
from serifos.cmd.balancer import pools
from serifos.cmd.balancer import series
from serifos.cmd.balancer import spans
from serifos.cmd.balancer import verb
from serifos.cmd import output
from serifos.database.history import store
from serifos import errors
from serifos.facts import activity
from serifos.facts import history
from serifos.facts import journal
from serifos.facts import pool_errors
from serifos.plan import eligibility


class History(verb.Verb):
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
                            help='a volume whose activity is shown; with '
                            '--pools a pool')
        parser.add_argument('--pools', action='store_true',
                            help='show what pools achieved beside what their '
                            'models predict')
        parser.add_argument('--out', metavar='FILE',
                            help='write what all volumes did to this file, '
                            'compressed where it ends in .gz')
        parser.add_argument('--days', type=float,
                            help='of what was seen: back from now '
                            '(default: 1; with --out 7)')
        parser.add_argument('--step', type=int, metavar='SECONDS',
                            help='of a slot (default: an hour; five minutes '
                            'for less than a day, and with --out)')
        parser.add_argument('--until', metavar='TIME',
                            help='the end of what a VOLUME did, ISO 8601 '
                            '(default: now)')
        parser.add_argument('--volume', metavar='ID',
                            help='the migrations of one volume only')
        parser.add_argument('--last', type=int, default=50, metavar='N',
                            help='the last N migrations\' entries (default: '
                            '50)')
        output.add_format(parser, 'a list', 'it')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        if parsed_args.until is not None and (
                parsed_args.what is None or parsed_args.pools):
            raise errors.InputError('--until is of what a VOLUME did.')
        if parsed_args.out is not None:
            self._write(parsed_args)
            return
        if parsed_args.pools:
            self._show_pools(parsed_args)
            return
        if parsed_args.what is None:
            self._show_migrations(parsed_args)
            return
        if parsed_args.volume is not None:
            raise errors.InputError(
                '--volume is of migrations; give it, or a VOLUME whose '
                'activity is shown.')
        past = self.past()
        found = self._activity(past, parsed_args)
        output.show(parsed_args, series.documents(found),
                    lambda: f'{_told(found, past)}\n')

    def _activity(self, past: history.History,
                  parsed_args: argparse.Namespace) -> history.Series:
        days = 1.0 if parsed_args.days is None else parsed_args.days
        step_s = parsed_args.step
        if step_s is None:
            step_s = 3600 if days >= 1 else 300
        end = spans.end(parsed_args.until)
        return past.read([self._place(parsed_args.what, past)],
                         end - spans.seconds(days, step_s), end, step_s)

    def _write(self, parsed_args: argparse.Namespace) -> None:
        """Writes what all volumes did."""
        if (parsed_args.what, parsed_args.volume) != (None, None) or (
                parsed_args.pools):
            raise errors.InputError(
                '--out writes what all volumes did; give no VOLUME and no '
                '--pools with it.')
        days = 7.0 if parsed_args.days is None else parsed_args.days
        step_s = 300 if parsed_args.step is None else parsed_args.step
        seconds = spans.seconds(days, step_s)
        past = self.past()
        inventory = adapters.cinder(self.app.conf).inventory()
        print(history_file.write(
            parsed_args.out, past, inventory, journal.last_moves(
                self.journal().entries()), seconds, step_s))

    def _show_pools(self, parsed_args: argparse.Namespace) -> None:
        """Shows the errors of pools."""
        if (parsed_args.volume, parsed_args.step) != (None, None):
            raise errors.InputError(
                '--pools shows pools by hours; give no --volume and no --step '
                'with it.')
        days = 1.0 if parsed_args.days is None else parsed_args.days
        now, seconds = time.time(), spans.seconds(days, pool_errors.HOUR_S)
        achieved = histories.achieved(self.app.conf)
        its = pools.read(achieved.kept, now, now - seconds, parsed_args.what)
        of = 'pools' if parsed_args.what is None else (
            f'pool {parsed_args.what}')
        output.show(
            parsed_args, [pool.document() for pool in its],
            lambda: f'{pools.text(its, parsed_args.what)}\n' if its else
            f'Nothing is known of {of} in that time; serifos-balancer run '
            'keeps how far pools are from their models.\n',
            names=pools.NAMES)

    def past(self) -> history.History:
        """Where the past is read.

        :raises InputError: where the configuration cannot be used
        """
        return histories.read(self.app.conf)

    def _place(self, volume: str,
               past: history.History) -> activity.MeasuredVolume:
        """Where a volume is, as far as the source has to know that."""
        if isinstance(past, store.Store):
            return activity.MeasuredVolume(volume, volume, '')
        inventory = adapters.cinder(self.app.conf).inventory()
        found = [place for place in join.places(inventory, journal.last_moves(
            self.journal().entries())) if place.volume == volume]
        if not found:
            raise errors.InputError(f'Cinder has no volume {volume}.')
        return found[0]

    def _show_migrations(self, parsed_args: argparse.Namespace) -> None:
        if parsed_args.last < 1:
            raise errors.InputError(
                f'The last {parsed_args.last} entries cannot be shown; give '
                'a number of 1 or more.')
        entries = [entry for entry in self.journal().entries()
                   if parsed_args.volume in (None, entry.facts.get('volume'))
                   ][-parsed_args.last:]
        output.show(parsed_args, [entry.to_json() for entry in entries],
                    lambda: f'{migrations.text(entries)}\n',
                    names=journal.Entry.names())


def _told(found: history.Series, past: history.History) -> str:
    if found.seconds.any():
        return series.text(found)
    if isinstance(past, store.Store) and not past.until():
        return (f'Nothing is kept yet in {past.database.name}; '
                'serifos-balancer run keeps what volumes do.')
    return f'Nothing is known of volume {found.volumes[0]} in that time.'


class Recover(verb.Asks):
    """Recover a volume whose migration Cinder has forgotten.

    If the source died during the copy, the volume stays in migrating; if it
    died after the copy, the old copy stays in deleting. The status is reset
    and the copy deleted, only where none can still be written, which is
    checked twice. Of a volume in use, whose copy libvirt may still write, the
    commands for the compute host are printed first.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        verb.add_window(parser)
        parser.add_argument('volume', metavar='VOLUME', help='its id')
        parser.add_argument(
            '--disk', metavar='TARGET', help='of a volume in use: the iSCSI '
            'target that the disk of its server uses, as the commands for '
            'the compute host print it; where they look at the disk twice, '
            'as the second look prints it')
        parser.add_argument(
            '--keep-copy', action='store_true', help='of a volume in use: do '
            'not delete its copy, but make it a volume of its own')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        with self.acting(parsed_args.window) as balancer:
            self.gather(balancer)
            asked = (parsed_args.volume, parsed_args.disk,
                     parsed_args.keep_copy)
            diagnosis = balancer.observer.diagnose(*asked)
            print(diagnosis.sentence())
            for line in diagnosis.cure:
                print(line)
            if not diagnosis.forgotten:
                raise errors.InputError('Nothing was done.')
            for line in diagnosis.plan():
                print(line)
            self.confirm(f'Recover {parsed_args.volume}?', parsed_args)
            with self.gently():
                balancer.carrier.recover(
                    balancer.observer.diagnose(*asked))
            print(f'Volume {parsed_args.volume} is at rest'
                  + ('.' if diagnosis.kept else
                     ', and Cinder knows of no copy of it.'))
            for orphan in diagnosis.orphans:
                print(orphan.after())


class Reapply(verb.Asks):
    """Make changes of a volume again that Cinder undid in a migration.

    Cinder undoes what the tenant of a volume in use changes as it is copied.
    Name, description and metadata are set as they were changed, after a
    question. For the rest, such as an extension, the commands are printed.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('volume', metavar='VOLUME', help='its id')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        journal, volume = self.journal(), parsed_args.volume
        cinder = adapters.cinder(self.app.conf)
        record = cinder.volume(volume)
        if record is None:
            raise errors.InputError(f'Cinder has no volume {volume}.')
        if eligibility.migrating(record):
            raise errors.InputError(
                f'Volume {volume} is being migrated; wait for the end.')
        lost = changes.undone(changes.of_last(
            journal.entries(), volume), changes.held(record))
        if not lost:
            raise errors.InputError(
                f'The journal knows of no change of volume {volume} that '
                'Cinder undid and that is not made again yet.')
        print(f'Cinder has undone: {changes.words(lost)}.')
        for line in changes.commands(volume, lost, record.project_id):
            print(f'    {line}')
        labels = changes.labels(lost)
        if not any(labels):
            raise errors.InputError(
                'That is left to a person; nothing was done.')
        self.confirm(f'Set name, description and metadata of {volume} so?',
                     parsed_args)
        requests.Requests(cinder).relabel(volume, *labels)
        rest = changes.undone(lost, changes.held(
            cinder.volume(volume) or record))
        journal.write('recover', volume=volume, result=changes.RESTORED,
                      reason=changes.words(lost))
        print('They are set.' + (
            f' Left to a person: {changes.words(rest)}.' if rest else ''))


class Resume(verb.Verb):
    """Let a balancer move again that paused.

    It paused after failures in a row, or because its journal lacks entries:
    where it was deleted, replaced by a backup, or moved to a new database.
    What is accepted by this, and what is lost, is printed.
    """

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        kept = self.journal()
        mark = kept.mark()  # what is missing is noted by now
        pause, doubt = (ask(kept.entries()) for ask in (
            journal.pause, journal.doubt))
        if pause is None:
            print('The balancer is not paused.')
            return
        kept.write('resume', reason='serifos-balancer resume')
        print(f'The balancer paused at {pause.at}: {pause.facts["reason"]}.')
        if doubt is not None:
            print(f'Accepted: the journal {kept.database.name}, identity '
                  f'{mark.journal}, with {mark.entry} entries. Whatever it '
                  'does not know is lost: volumes may be moved again that '
                  'were moved or failed before, and plans have to be made '
                  'and approved anew.')
        print('The balancer goes on with its next round.')
