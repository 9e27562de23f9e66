# SPDX-License-Identifier: Apache-2.0
"""Plans that are stored, whatever the database."""

from __future__ import annotations

import dataclasses
import json
import math
import random
import zlib

import sqlalchemy

from serifos.database import plans
from serifos import errors
from serifos.plan.plan import Change
from serifos.plan.plan import Listed
from serifos.plan.plan import Move
from serifos.plan.plan import Plan
from serifos.plan.plan import Refusal
from tests.unit.database import at_once

NOW = 1_800_000_000.0
DAY = 86400.0


def plan(name, created=NOW, ttl=DAY, volume='v'):
    change = Change(2, 1)
    return Plan(
        'relieve', (Move(volume, 'a', 'b', 1, 2, 1, 1, 2, 'it is hot'),),
        (), False, {'a': change}, change, change, change, change,
        ).issued(name, created, ttl)


def large(name, pools=1000, volumes=10_000):
    """A plan of a large cloud: a move a pool, all other volumes refused."""
    rng = random.Random(1)
    change = Change(2.0, 1.0)
    ids = [f'{rng.getrandbits(128):032x}' for _ in range(volumes)]
    names = [f'stor{n:04}@ssd-é#ssd' for n in range(pools)]
    return dataclasses.replace(
        plan(name), moves=tuple(Move(
            volume, source, names[-1], 60.0, *(rng.uniform(100, 9000)
                                               for _ in range(4)),
            'the pool is hot: 12.4 ms, 3.1 ms in the mean')
            for volume, source in zip(ids, names)),
        refused=tuple(Refusal(volume, 'gain 2 % is below min_gain 10 %')
                      for volume in ids[pools:]),
        latency_us={name: change for name in names})


def break_row(database, plan_id, **columns):
    database.run(lambda connection: connection.execute(sqlalchemy.update(
        plans.PLANS).where(plans.PLANS.c.id == plan_id).values(**columns)))


def packed(document):
    return zlib.compress(json.dumps(document).encode())


class Behaviour:
    """The tests; who uses them has ``database``, empty when one begins."""

    def setUp(self):
        super().setUp()
        self.said = []

    @property
    def stored(self):
        """Each time anew, as another balancer of another host has it."""
        return plans.Plans(dataclasses.replace(
            self.database, options={**self.database.options,
                                    'db_retry_interval': 0.05}))

    def keep(self, made, now=NOW):
        return self.stored.keep(made, now, self.said.append)

    def ids(self, **wanted):
        return [each.id for each in self.stored.every(
            self.said.append, **wanted)]

    def test_it_is_read_back_as_it_was(self):
        self.assertEqual([], self.ids())
        made = plan('one', NOW + 0.7, volume='é 😀')
        self.assertEqual(made, self.keep(made))
        self.assertEqual(made, self.stored.stored('one'))
        self.assertEqual([made], self.stored.every(self.said.append))
        self.assertEqual([], self.said)

    def test_old_ones_go_and_the_same_is_not_stored_again(self):
        self.keep(plan('old', NOW - 9 * DAY), NOW - 9 * DAY)
        self.keep(plan('week', NOW - 7.5 * DAY, volume='x'), NOW - 7.5 * DAY)
        self.keep(plan('one', volume='w'))
        self.assertEqual('one', self.keep(
            plan('two', NOW + 1, volume='w')).id)
        self.assertEqual(['week', 'one'], self.ids())

    def test_the_same_is_stored_again_after_another_one_or_once_expired(self):
        self.keep(plan('one'))
        self.keep(plan('two', NOW + 1, volume='w'), NOW + 1)
        self.assertEqual('three', self.keep(plan('three', NOW + 2)).id)
        later = NOW + DAY + 3
        self.assertEqual('four', self.keep(plan('four', later), later).id)
        self.assertEqual(['one', 'two', 'three', 'four'], self.ids())

    def test_those_that_are_wanted(self):
        for number, name in enumerate(('one', 'two', 'three')):
            self.keep(plan(name, NOW + number * DAY, volume=name))
        self.assertEqual(['two', 'three'], self.ids(
            expires_after=NOW + DAY))
        self.assertEqual(['one', 'three'], self.ids(
            ids={'one', 'three', 'four'}))
        self.assertEqual([], self.ids(expires_after=NOW + DAY, ids=['one']))

    def test_a_list_has_what_their_documents_say_and_reads_none(self):
        for number, name in enumerate(('one', 'two', 'three')):
            self.keep(dataclasses.replace(
                plan(name, NOW + number * DAY, volume=name),
                max_us=Change(900 + number, 800.5)))
        stored = self.stored.every(self.fail)
        for name in 'one', 'two':
            break_row(self.database, name, document=b'')
        for after, seen in (NOW + DAY, stored[1:]), (-math.inf, stored):
            self.assertEqual(
                [Listed(each.id, each.created_at, each.expires_at, 'relieve',
                        1, 1.0, each.max_us) for each in seen],
                self.stored.listed(after))

    def test_one_that_is_not_there(self):
        self.keep(plan('one'))
        for name in ('ONE', 'one ', 'x' * 300, 'a\0b', '', '/', '../..',
                     '\ud800', "'", '%'):
            error = self.assertRaises(
                errors.InputError, self.stored.stored, name)
            self.assertIn('There is no plan', str(error))

    def test_a_broken_row_is_one_sentence_and_hides_no_other(self):
        for name in 'one', 'two', 'three':
            self.keep(plan(name, volume=name))

        def packed(text):
            return zlib.compress(text.encode())
        doc = plan('two').to_json()
        whole = packed(json.dumps(doc))
        for document, why in (
                (b'', 'cut short'), (b'\x00\xff', 'no compressed'),
                (whole[:-9], 'cut short'),
                (whole[:20] + b'\x00' * 9 + whole[29:], 'no compressed'),
                (packed('{'), 'not JSON'), (packed('[]'), 'schema is None'),
                (packed('[' * 100_000), 'nested'),
                (packed('{"schema": "serifos-plan/2"}'), 'serifos-plan/2'),
                (packed(json.dumps({**doc, 'moves': 5})), 'moves must be'),
                (packed(json.dumps({**doc, 'created_at': 'x'})), "'x'"),
                (packed(json.dumps({**doc, 'id': 'six'})), 'of plan six')):
            break_row(self.database, 'two', document=document)
            self.said.clear()
            self.assertEqual(['one', 'three'], self.ids())
            said, = self.said
            error = self.assertRaises(
                errors.FormatError, self.stored.stored, 'two')
            self.assertEqual(str(errors.FormatError(said)), str(error))
            for part in ('The stored plan two cannot be read', why,
                         'delete that row of serifos_plans in '):
                self.assertIn(part, said)
            self.assertLess(len(said), 500)

    def test_one_of_a_newer_release_is_read(self):
        made = plan('one')
        self.keep(made)
        doc = made.to_json()
        for change in (doc, doc['max_us'], doc['latency_us']['a'],
                       *doc['moves']):
            change['of_a_newer_release'] = {'x': 1}
        break_row(self.database, 'one', document=packed(doc))
        self.assertEqual([made], self.stored.every(self.fail))
        self.assertEqual('two', self.keep(plan('two', volume='w')).id)

    def test_a_broken_last_one_does_not_keep_the_next_from_being_stored(self):
        self.keep(plan('one'))
        break_row(self.database, 'one', document=b'no')
        self.assertEqual('two', self.keep(plan('two', NOW + 1)).id)
        said, = self.said
        self.assertIn('The stored plan one', said)
        self.assertEqual(['two'], self.ids())

    def test_what_no_reader_could_use_is_not_stored(self):
        for made in (plan(''), plan('x' * 5000), plan('one', volume='\ud800'),
                     dataclasses.replace(plan('one'), window_s=-1)):
            error = self.assertRaises(errors.InputError, self.keep, made)
            self.assertIn('The plan cannot be stored', str(error))
        self.assertEqual([], self.ids())

    def test_one_of_a_thousand_pools(self):
        made = large('large')
        self.keep(made)
        self.assertEqual(made, self.stored.stored('large'))

    def test_two_that_store_the_same_moves_at_once_store_one(self):
        names = iter(range(100))

        def store():
            for volume in 'abcde':
                self.keep(plan(f'p{next(names)}', volume=volume))
        self.assertEqual([], at_once.failures(store))
        moves = [each.steps for each in self.stored.every(self.fail)]
        # Never the same twice in a row, by whomever.
        self.assertFalse([one for one, other in zip(moves, moves[1:])
                          if one == other])
        self.assertEqual(set('abcde'), {each[0][0] for each in moves})

    def test_two_that_store_others_at_once_store_both(self):
        numbers = iter(range(100))

        def store():
            for _ in range(8):
                number = next(numbers)
                self.keep(plan(f'p{number}', volume=f'v{number}'))
        self.assertEqual([], at_once.failures(store))
        self.assertEqual({f'p{n}' for n in range(16)}, {*self.ids()})

    def test_a_clock_that_is_days_ahead_deletes_little(self):
        for number in range(8):
            self.keep(plan(f'p{number}', NOW + number, volume=f'v{number}'),
                      NOW + number)
        ahead = NOW + 30 * DAY
        self.keep(plan('ahead', ahead), ahead)
        self.assertEqual([*(f'p{n}' for n in range(2, 8)), 'ahead'],
                         self.ids())
        # Nor does its plan hide that the last one of others is the same.
        self.assertEqual('p7', self.keep(plan(
            'again', NOW + 60, volume='v7'), NOW + 60).id)

    def test_one_that_reads_while_others_tidy(self):
        for number in range(6):
            self.keep(plan(f'old{number}', volume=f'v{number}'))
        later, numbers = NOW + 9 * DAY, iter(range(100))

        def tidy():
            for _ in range(4):
                number = next(numbers)
                found = self.stored.every(self.fail)
                self.assertIn(len({each.id[:3] for each in found}), (1, 2))
                self.keep(plan(f'new{number}', later, volume=f'v{number}'),
                          later)
        self.assertEqual([], at_once.failures(tidy))
        self.assertEqual({f'new{n}' for n in range(8)}, {*self.ids()})
