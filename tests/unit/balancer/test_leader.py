# SPDX-License-Identifier: Apache-2.0
"""Leadership among balancers that pause, die and lose locks."""

import tempfile

import ddt
from hypothesis import given
from hypothesis import settings
from hypothesis import stateful
from hypothesis import strategies
import testtools

from serifos.balancer import leader
from serifos.database import connection
from serifos.database import journal
from serifos import errors
from serifos.facts.journal import open_moves
from tests.unit.balancer import cloud

REQUEST = {'source': cloud.A, 'target': cloud.B, 'plan': 'p', 'size_gib': 1}


class Case(cloud.Case):

    def setUp(self):
        super().setUp()
        self.url = f'file://{self.settings.state_dir}/lock'

    def lead(self, url=None):
        made = leader.Lead(url or self.url, self.journal(), 'auto')
        self.addCleanup(made.give_back)
        return made


class LeadTest(Case):

    def test_one_at_a_time(self):
        with self.lead():
            error = self.assertRaises(
                errors.InputError, self.lead().__enter__)
            self.assertIn('Another balancer is acting', str(error))
        with self.lead():
            pass

    def test_a_stale_leader_asks_for_nothing(self):
        one, other = self.lead(), self.lead()
        self.assertTrue(one.take())
        balancer = self.balancer.as_leader(one.journal, one.prove)
        self.journal().take_lead('other', 'auto')
        for verb, *arguments in (
                (balancer.carrier.executor.requests.migrate, 'u', cloud.B),
                (balancer.carrier.executor.requests.reset, 'u'),
                (balancer.carrier.executor.requests.delete, 'u')):
            self.assertRaises(errors.NotLeading, verb, *arguments)
        self.assertEqual([], self.cinder.asked)
        self.assertEqual(cloud.A, balancer.observer.cinder.volume('u').pool)
        # It has given the lock up, so that the other one may have it.
        self.assertTrue(other.take())

    def test_a_stale_leader_journals_nothing(self):
        leading = self.lead()
        leading.take()
        balancer = self.balancer.as_leader(leading.journal, leading.prove)
        self.journal().take_lead('other', 'auto')
        error = self.assertRaises(errors.NotLeading, balancer.round)
        self.assertIn('Another balancer, other, has taken the lead',
                      str(error))
        self.assertEqual(([], []), (self.kinds(), self.cinder.asked))

    def test_a_request_that_was_not_made_is_not_waited_for(self):
        leading = self.lead()
        leading.take()

        def prove():
            raise errors.NotLeading('The server of the lock is away.')
        balancer = self.balancer.as_leader(leading.journal, prove)
        self.assertRaises(errors.NotLeading, balancer.round)
        self.assertEqual(
            [('request', None), ('outcome', 'not started')],
            [(e.kind, e.facts.get('result')) for e in self.entries()])
        self.assertEqual((), open_moves(self.entries()))

    def test_a_lead_that_was_lost_is_taken_as_if_for_the_first_time(self):
        one = self.lead()
        one.take()
        self.journal().take_lead('other', 'auto')
        self.assertTrue(one.take())  # the lock is free, and so is the lead
        one.prove()
        self.assertEqual(3, one.journal.token)

    def test_hosts_that_share_the_database_alone_are_told_so(self):
        one = self.lead()
        other = self.lead(f'{self.url}-of-another-host')
        one.take()
        self.assertTrue(one.take())
        self.assertNotIn('set [balancer] lock_url', self.log.output)
        other.take()
        one.take()
        self.assertIn(f'does not use the lock {self.url}: set [balancer] '
                      'lock_url of all hosts', self.log.output)

    def test_a_journal_that_is_away_is_no_other_lock(self):
        one = self.lead()
        one.take()
        self.settings.state_dir.joinpath('journal.sqlite').write_text('x')
        self.assertRaises(errors.NotLeading, one.prove)
        self.assertNotIn('set [balancer] lock_url', self.log.output)

    def test_what_the_last_leader_asked_for_is_settled_first(self):
        one = self.lead()
        one.take()
        one.journal.write('request', volume='v', **REQUEST)
        one.give_back()
        other = self.lead()
        other.take()
        self.balancer.as_leader(other.journal, other.prove).round()
        self.assertEqual(
            [('request', 'v'), ('outcome', 'v'), ('request', 'u'),
             ('accepted', 'u'), ('outcome', 'u')],
            [(e.kind, e.facts['volume']) for e in self.entries()])

    def test_a_lock_that_is_given_back_may_be_taken(self):
        one, other = self.lead(), self.lead()
        one.take()
        one.give_back()
        self.assertTrue(other.take())
        self.assertRaises(errors.NotLeading, one.prove)
        self.assertRaises(errors.NotLeading, lambda: one.journal)


@ddt.ddt
class UrlTest(Case):

    @ddt.data(
        ('nothing://here', 'look at [balancer] lock_url'),
        ('here', 'is not a URL'), ('', 'is not a URL'),
        ('http://[', 'is not a URL'), ('mysql://u@h:port/d', 'is not a URL'),
        ('etcd3+http://u:hush@127.0.0.1:1?timeout=1', 'lock_url'),
        ('mysql://u:hush@127.0.0.1:1/d', 'lock_url'),
        ('mysql://u:hush@127.0.0.1:1', 'lock_url'),
        ('mysql://u:hush@127.0.0.1:1/d?ssl_ca=/no/such', 'lock_url'),
        ('etcd3+http://127.0.0.1:1?timeout=soon', 'lock_url'),
        ('file:///proc/no/such', 'cannot be made'),
        ('kazoo://u:hush@127.0.0.1:1', 'lock_url'))
    @ddt.unpack
    def test_a_lock_that_cannot_be_had(self, url, said):
        shared = Shared(self.journal())
        error = self.assertRaises(
            errors.SerifosError, lambda: leader.Lead(
                url, shared, 'auto').take())
        self.assertIn(said, str(error))
        self.assertNotIn('hush', str(error))

    @settings(max_examples=80, deadline=None)
    @given(strategies.text()
           | strategies.text().map('mysql://u:hush@{}'.format)
           | strategies.text().map('{}://u:hush@h/d'.format))
    def test_any_text_is_a_url_or_refused(self, url):
        try:
            leader.Lead(url, Shared(self.journal()), 'auto')
        except errors.InputError as exc:
            self.assertNotIn('hush', str(exc))

    def test_a_shared_lock_and_a_journal_of_its_own(self):
        error = self.assertRaises(
            errors.InputError, self.lead('etcd3+http://127.0.0.1:1').take)
        self.assertIn('journal.sqlite is not, so that each host', str(error))
        self.assertIn('set [database] connection', str(error))


class Shared:
    """A journal that other hosts reach too."""

    local_file = None

    def __init__(self, inner):
        self.take_lead, self.prove = inner.take_lead, inner.prove
        self.give_lead_back = inner.give_lead_back


class Fencing(stateful.RuleBasedStateMachine):
    """Balancers that take the lead, are paused, and lose locks, at will.

    Each request is in two steps, as it is: the entry, and the call.
    """

    names = strategies.sampled_from('ab')

    def __init__(self):
        super().__init__()
        self.directory = tempfile.TemporaryDirectory()
        self.journal = journal.Journal(connection.Database(
            f'sqlite:///{self.directory.name}/journal.sqlite'), lambda: 1.8e9)
        self.leads = {}
        self.open = {}
        self.last = None
        self.number = 0

    @stateful.rule(name=names)
    def take(self, name):
        self.leads[name] = self.journal.take_lead(name, 'auto')
        self.last = name
        self.settled = open_moves(self.leads[name].entries())

    @stateful.rule(name=names)
    def request(self, name):
        if name not in self.leads:
            return
        self.number += 1
        volume = f'v{self.number}'
        try:
            self.leads[name].write('request', volume=volume, **REQUEST)
        except errors.NotLeading:
            assert name != self.last
            return
        assert name == self.last
        self.open[volume] = name

    @stateful.rule(name=names)
    def call(self, name):
        mine = [v for v, owner in self.open.items() if owner == name]
        if not mine or name not in self.leads:
            return
        try:
            self.leads[name].prove()
        except errors.NotLeading:
            assert name != self.last
            # The one that leads knows of it, and settles it.
            assert {e.facts['volume'] for e in self.settled} >= set(mine)
            return
        assert name == self.last

    def teardown(self):
        self.directory.cleanup()


class FencingTest(testtools.TestCase):

    def test_one_leader_at_a_time(self):
        stateful.run_state_machine_as_test(Fencing, settings=settings(
            max_examples=25, stateful_step_count=15, deadline=None))
