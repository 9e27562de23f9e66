# SPDX-License-Identifier: Apache-2.0
"""serifos-balancer recover, reapply and resume: after something went wrong."""

from __future__ import annotations

import argparse

from serifos.balancer import changes
from serifos.balancer import leader
from serifos.cmd.balancer import adapters
from serifos.cmd.balancer import cloud_verb
from serifos.cmd.balancer import verb
from serifos import errors
from serifos.facts import journal
from serifos.plan import eligibility


class Recover(cloud_verb.Asks):
    """Recover a volume whose migration Cinder has forgotten.

    If the source died during the copy, the volume stays in migrating; if it
    died after the copy, the old copy stays in deleting. The status is reset
    and the copy deleted, only where none can still be written, which is
    checked twice. Of a volume in use, whose copy libvirt may still write, the
    commands for the compute host are printed first.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        cloud_verb.add_window(parser)
        parser.add_argument('volume', metavar='VOLUME',
                            help='id of the volume')
        parser.add_argument(
            '--disk', metavar='TARGET', help='for a volume in use: iSCSI '
            'target of the disk of its server, as the commands for the '
            'compute host print it; if they look at the disk twice, as the '
            'second look prints it')
        parser.add_argument(
            '--keep-copy', action='store_true', help='for a volume in use: '
            'keep its copy as a volume of its own instead of deleting it')
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


class Reapply(cloud_verb.Asks):
    """Make changes of a volume again that Cinder undid in a migration.

    Cinder undoes what the tenant of a volume in use changes as it is copied.
    Name, description and metadata are set as they were changed, after a
    question. For the rest, such as an extension, the commands are printed.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('volume', metavar='VOLUME',
                            help='id of the volume')
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
                'Nothing was done; run these commands by hand.')
        self.confirm(f'Set name, description and metadata of {volume} so?',
                     parsed_args)
        leader.Requests(cinder).relabel(volume, *labels)
        rest = changes.undone(lost, changes.held(
            cinder.volume(volume) or record))
        journal.write('recover', volume=volume, result=changes.RESTORED,
                      reason=changes.words(lost))
        print('Name, description and metadata are set.' + (
            f' To be done by hand: {changes.words(rest)}.' if rest else ''))


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
