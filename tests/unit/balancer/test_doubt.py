# SPDX-License-Identifier: Apache-2.0
"""A journal that cannot be relied on: nothing moves until a person said so."""

import sqlite3

import ddt

from serifos.balancer import leader
from serifos.cmd.balancer import apply as balancer_apply
from serifos.cmd.balancer import recover
from serifos.database import connection
from serifos.database import marks
from serifos import errors
from serifos.facts import journal
from serifos.facts import times
from serifos.files import documents
from tests.unit.cmd import test_balancer_verbs as verbs

LOST = 'cool-downs, back-offs, pauses, approvals and open requests'


class Case(verbs.Case):

    leading = None

    def setUp(self):
        super().setUp()
        self.set(cool_down_s=0.0)
        self.backup = self.dir / 'backup'
        self.restart()

    def restart(self):
        """Begins anew with what is remembered in files."""
        if self.leading is not None:
            self.leading.give_back()
        self.leading = leader.Lead(
            f'file://{self.settings.state_dir}/lock', self.journal(), 'auto')
        self.addCleanup(self.leading.give_back)

    def round(self):
        """One of a daemon, which leads where its mode says so."""
        if not self.settings.auto:
            return self.balancer.round()
        self.assertTrue(self.leading.take())
        return self.balancer.as_leader(
            self.leading.journal, self.leading.prove).round()

    def moved(self):
        return [volume for volume, _ in self.cinder.asked]

    def moves_nothing(self, why):
        """It observes and plans, and neither a round nor a person moves."""
        asked, self.now = self.moved(), self.now + 60
        plan = self.round()
        self.assertTrue(plan.moves)
        self.assertEqual(times.text(self.now), documents.read_cluster(
            self.settings.cluster_file).observed_at)
        self.leading.give_back()
        code, _, err = self.verb(balancer_apply.Apply, plan.id, '--yes')
        self.assertEqual(2, code)
        self.assertIn('Nothing is moved', self.log.output)
        self.assertIn(why, self.log.output)
        self.assertIn(f'Nothing is moved: {why}', err)
        self.assertIn(why, journal.doubt(self.entries()))
        self.assertEqual(asked, self.moved())

    def resume(self):
        """What is printed; what was noted once is not noted again."""
        noted = self.kinds().count('pause')
        code, out, _ = self.verb(recover.Resume)
        self.assertEqual(0, code)
        asked = len(self.moved())
        self.round()
        self.assertLess(asked, len(self.moved()))
        self.assertEqual(noted, self.kinds().count('pause'))
        return out


class BrokenEntryTest(Case):

    def test_nothing_moves(self):
        self.journal().write('accepted', volume='v')
        with sqlite3.connect(self.shared.file) as made:
            made.execute("UPDATE serifos_journal_entries SET facts = '{}'")
        made.close()
        self.moves_nothing(f'the journal {self.shared.file} has a broken '
                           'entry, id 1')
        self.resume()


@ddt.ddt
class LostTest(Case):
    """A journal of two moves, and a backup of the first."""

    def setUp(self):
        super().setUp()
        self.crowd('abcdefgh')
        self.round()
        self.backup.write_bytes(self.shared.file.read_bytes())
        self.round()
        self.had = self.journal().mark()
        self.assertEqual(2, len(self.moved()))

    def restore(self):
        self.shared.file.write_bytes(self.backup.read_bytes())

    @ddt.data(True, False)
    def test_a_journal_that_was_deleted(self, auto):
        self.set(auto=auto)
        self.shared.file.unlink()
        self.moves_nothing(
            f'the journal {self.shared.file} is not the one that ')
        self.assertIn(
            f' remembers: that had {self.had.entry} entries, this has 0; '
            f'{LOST} may be missing', self.log.output)
        self.set(auto=True)
        out = self.resume()
        self.assertIn('is not the one that', out)
        self.assertIn(f'Accepted: the journal {self.shared.file}, identity '
                      f'{self.journal().mark().journal}, with 1 entries', out)
        self.assertIn('is lost', out)

    @ddt.data(True, False)
    def test_an_old_backup_in_its_place(self, auto):
        self.set(auto=auto)
        self.restore()
        old = len(self.entries())
        self.moves_nothing(f'the journal {self.shared.file} is older than ')
        self.assertIn(f' remembers it: it has {old} of {self.had.entry} '
                      f'entries; {LOST}', self.log.output)
        # No number that is remembered is given to another entry.
        self.assertLess(self.had.entry, self.journal().mark().entry)
        self.set(auto=True)
        self.resume()

    @ddt.data(True, False)
    def test_while_a_migration_runs(self, deleted):
        self.set(batch=4, parallel=1)
        pause, done = self.pause, []

        def meanwhile(seconds):
            if len(self.moved()) == 3 and not done:
                done.append(1)
                (self.shared.file.unlink if deleted else self.restore)()
            return pause(seconds)
        self.pause = meanwhile
        error = self.assertRaises(errors.SerifosError, self.round)
        self.assertIn('This balancer stops acting: the journal', str(error))
        self.assertEqual(3, len(self.moved()))
        self.now += 3600
        self.moves_nothing(f'the journal {self.shared.file} is ')
        self.resume()

    def test_the_proof_before_a_request_is_of_the_same_journal(self):
        self.leading.take()
        self.shared.file.unlink()
        for why in 'is gone', 'is not the one in which this balancer took':
            error = self.assertRaises(
                errors.InputError, self.leading.journal.prove)
            self.assertIn(why, str(error))
            self.journal().take_lead('other', 'auto')

    @ddt.data('cluster.json', 'lock/journal.json')
    def test_one_that_remembers_is_enough(self, kept):
        self.shared.file.unlink()
        for name in {'cluster.json', 'lock/journal.json'} - {kept}:
            (self.dir / name).unlink()
        self.restart()
        self.moves_nothing(f'the journal {self.shared.file} is not the one '
                           f'that {self.dir / kept} remembers')

    def test_the_history_remembers(self):
        database = connection.Database(
            f'sqlite:///{self.dir}/history.sqlite',
            content=connection.HISTORY)
        kept = marks.History(lambda: database)
        self.assertIsNone(kept.read())
        for number in 7, 8:
            kept.keep(journal.Mark(self.had.journal, number))
        self.assertEqual(journal.Mark(self.had.journal, 8), kept.read())
        database.file.write_text('garbage' * 100)
        self.assertIsNone(kept.read())
        self.assertIn('it is set aside', self.log.output)
        self.assertIsNone(kept.read())
        kept.keep(self.had)
        self.assertEqual(self.had, kept.read())

    def test_where_nothing_is_remembered_nothing_is_missed(self):
        self.shared.file.unlink()
        self.settings.cluster_file.unlink()
        (self.dir / 'lock/journal.json').unlink()
        self.restart()
        self.round()
        self.assertEqual(3, len(self.moved()))
        self.assertEqual(['request', 'accepted', 'outcome'], self.kinds())

    @ddt.data('cluster.json', 'lock/journal.json')
    def test_what_cannot_be_read_remembers_nothing(self, name):
        self.leading.give_back()
        for garbage in ('', '[' * 9999, '{"journal": {"id": 5, "entry": []}}',
                        '{"id": "x", "entry": 1e999}', '{"journal": []}'):
            (self.dir / name).write_text(garbage)
            self.assertIsNone(self.journal().missing())

    def test_a_new_database_on_purpose(self):
        self.leading.give_back()
        self.shared.file.rename(self.dir / 'old.sqlite')
        code, out, _ = self.verb(recover.Resume)
        self.assertEqual(0, code)
        self.assertIn(f'that had {self.had.entry} entries, this has 0', out)
        self.assertEqual(['pause', 'resume'], self.kinds())
        self.round()
        self.assertEqual(3, len(self.moved()))

    def test_another_host_that_remembers_less_is_content(self):
        """Its cluster.json is of an observation before the last entries."""
        cluster = self.settings.cluster_file.read_bytes()
        self.round()
        self.shared.file.unlink()
        self.moves_nothing('the journal')
        self.verb(recover.Resume)
        self.settings.cluster_file.write_bytes(cluster)
        self.round()
        self.assertEqual(4, len(self.moved()))

    def test_an_approval_does_not_hide_what_is_missing(self):
        self.restore()
        for _ in range(20):
            self.journal().write('approve', plan='p', by='anna')
        self.moves_nothing(f'the journal {self.shared.file} is older than ')
