# SPDX-License-Identifier: Apache-2.0
"""SerifosWeigher among Cinder's own, under the stock FilterScheduler."""

import itertools
import logging
import math

import ddt
import fixtures
import testtools

from tests.unit.scheduler import cloud  # first: it skips without Cinder

from serifos.conf import scheduler
from serifos.conf import serifos
from serifos.facts.cluster import Pool
from serifos.scheduler import rate_limited_log
from serifos.scheduler import weigher
from tests.unit.scheduler import files

A, B, C = 'node1@ssd#ssd', 'node2@ssd#ssd', 'node3@ssd#ssd'


class Case(testtools.TestCase):

    scheduler = cloud.STOCK

    def setUp(self):
        super().setUp()
        self.files = self.useFixture(files.Files())
        self.conf = self.files.dir / 'cinder.conf'
        self.conf.write_text('')
        self.cloud = self.useFixture(cloud.Cloud(
            str(self.conf), scheduler_driver=self.scheduler,
            scheduler_default_filters=[*cloud.FILTERS, 'SerifosFilter'],
            scheduler_default_weighers=self.weighers()))
        self.configure(state_dir=str(self.files.dir),
                       models_dir=str(self.files.models_dir))
        self.files.models(files.model('ssd'))
        self.log = self.useFixture(fixtures.FakeLogger(level=logging.INFO))
        self.useFixture(fixtures.MonkeyPatch(
            'serifos.scheduler.rate_limited_log.WARNINGS',
            rate_limited_log.RateLimitedLog()))

    def weighers(self):
        return ['SerifosWeigher']

    def configure(self, **options):
        for name, value in options.items():
            cloud.CONF.set_override(name, value, group='serifos')

    def pools(self, *names, model='ssd', **capabilities):
        for name in names:
            self.cloud.pool(name, serifos_model=model, **capabilities)

    def busy(self, **block_kib):
        """A, B, C by letter, each with one volume of 10 GiB."""
        named = {'a': A, 'b': B, 'c': C}
        self.files.cluster(
            [named[letter] for letter in block_kib],
            [files.volume(letter, named[letter], kib)
             for letter, kib in block_kib.items()])
        for letter in block_kib:
            self.cloud.pool(named[letter], allocated_gib=10,
                            serifos_model='ssd')

    def weights(self, **properties):
        """Pool → what the weigher says, for a request as Cinder makes it."""
        states = list(self.cloud.driver.host_manager.get_all_backend_states(
            self.cloud.context))
        found = weigher.SerifosWeigher().weigh_objects(
            [weigher.weights.WeighedHost(state, 0.0) for state in states],
            properties)
        return {state.host: weight for state, weight in zip(states, found)}


def request(operation='create_volume', **facts):
    return {'request_spec': {'operation': operation, 'volume_id': 'v',
                             'volume_properties': {'size': 10}}, **facts}


@ddt.ddt
class WeigherTest(Case):

    def test_a_new_volume_lands_where_it_will_be_fastest(self):
        self.busy(a=64, b=8, c=32)
        self.assertEqual(B, self.cloud.create().host)

    def test_weights_are_the_worst_less_their_own(self):
        self.busy(a=64, b=8, c=32)
        self.assertEqual({A: 0, B: 560, C: 320}, self.weights(**request()))

    def test_hints_are_not_heard_where_tenants_are_not_trusted(self):
        cloud.CONF.set_override('newcomer_hints', False, 'serifos')
        self.busy(a=64, b=8)
        self.cloud.create(hints={'serifos:write_pct': '5'})
        self.assertIn('expecting write_pct 30 from the configured default',
                      self.log.output)

    def test_what_the_volume_will_do_is_told_by_its_type_and_hint(self):
        self.busy(a=64, b=8)
        gold = self.cloud.type('gold', serifos__block_kib='128')
        self.cloud.create(kind=gold, hints={'serifos:write_pct': '5'},
                          qos={'total_iops_sec': '100'})
        self.assertIn(
            'expecting write_pct 5 from the scheduler hint, block_kib 128 '
            'from volume type gold, iodepth 8 from the configured default, '
            'at most 100 IOPS by QoS', self.log.output)

    def test_a_model_is_named_by_the_capability_or_the_pool(self):
        self.busy(a=64, b=32)
        self.cloud.pool(A, allocated_gib=10, serifos_model='fast')
        self.cloud.pool(B, allocated_gib=10)
        self.files.models(files.model('fast', 1.0), files.model(B, 10.0))
        self.assertEqual({A: 400, B: 0}, self.weights(**request()))

    def test_without_a_model_the_median_of_the_others(self):
        self.busy(a=64, b=8)
        self.cloud.pool(C)
        self.assertEqual({A: 0, B: 560, C: 280}, self.weights(**request()))

    def test_absent_from_the_file_is_unknown_and_not_empty(self):
        self.busy(a=64, b=8)
        self.pools(C)
        self.assertEqual(280, self.weights(**request())[C])

    @ddt.data('extend_volume', 'create_snapshot', 'manage_existing',
              'migrate_volume', None, 7, ['create_volume'])
    def test_neutral_where_nothing_is_placed(self, operation):
        self.busy(a=64, b=8)
        self.assertEqual({A: 1, B: 1}, self.weights(**request(operation)))

    @ddt.data({}, {'request_spec': None}, {'request_spec': 'odd'},
              {'request_spec': {'operation': 'create_volume'}},
              {'request_spec': {'operation': 'create_volume',
                                'volume_properties': {'size': 'much'},
                                'volume_type': [('name', 'gold')]}})
    def test_whatever_is_asked_is_answered(self, properties):
        self.busy(a=64, b=8)
        found = self.weights(**properties)
        self.assertTrue(all(map(math.isfinite, found.values())))
        self.assertNotIn('bug', self.log.output)
        self.assertNotIn('Traceback', self.log.output)

    @ddt.data('missing', 'broken', 'stale', 'no model', 'absurd option')
    def test_neutral_with_one_warning_a_minute(self, why):
        self.busy(a=64, b=8)
        if why == 'missing':
            self.files.pools_path.unlink()
        elif why == 'broken':
            self.files.break_pools()
        elif why == 'stale':
            self.files.cluster([A, B], age_s=1801)
        elif why == 'no model':
            (self.files.models_dir / 'ssd.json').unlink()
        else:
            self.conf.write_text('[serifos]\nnewcomer_write_pct = nan\n')
            cloud.CONF.reload_config_files()
        for _ in range(3):
            self.assertEqual({A: 1, B: 1}, self.weights(**request()))
        self.assertEqual(1, self.log.output.count('Serifos has no opinion'))
        self.assertIsNotNone(self.cloud.create().host)

    @ddt.data(*itertools.product(
        [opt.dest for opt in (*serifos.OPTS, *scheduler.OPTS)],
        ['', 'nan', '-1', '$NAME']))
    @ddt.unpack
    def test_no_option_keeps_volumes_from_being_placed(self, name, value):
        self.busy(a=64, b=8)
        cloud.CONF.clear_override(name, group='serifos')
        itself = value == '$NAME'
        self.conf.write_text(
            f'[serifos]\n{name} = {f"${name}" if itself else value}\n')
        cloud.CONF.reload_config_files()
        self.assertIsNotNone(self.cloud.create().host)
        self.assertNotIn('Traceback', self.log.output)
        if itself or name in ('state_dir', 'models_dir') and not value or (
                name not in ('state_dir', 'models_dir', 'metrics_dir')):
            self.assertIn(f'[serifos] {name} ', self.log.output)

    def test_a_burst_spreads(self):
        self.busy(a=16, b=16, c=16)
        self.assertEqual(
            {A: 3, B: 3, C: 3}, _counts(self.cloud, 9))

    def test_pools_of_one_device_are_one(self):
        self.files.cluster([Pool(A, device='x'), Pool(B, device='x'),
                            Pool(C, device='y')])
        self.pools(A, B, C)
        found = _counts(self.cloud, 8)
        self.assertEqual(4, found[C], found)

    def test_beside_other_weighers_a_little_is_little(self):
        """Less than the model's own error does not outweigh capacity."""
        self.files.models(files.model('ssd', mre=0.1))
        cloud.CONF.set_override('scheduler_default_weighers',
                                ['SerifosWeigher', 'CapacityWeigher'])
        self.files.cluster([A, B], [files.volume('1', A, 64),
                                    files.volume('2', B, 63.9)])
        self.cloud.pool(A, 10, free_gib=900, serifos_model='ssd')
        self.cloud.pool(B, 10, free_gib=100, serifos_model='ssd')
        self.assertEqual(A, self.cloud.create().host)

    def test_a_lottery_by_weight_draws_all_while_there_is_no_opinion(self):
        cloud.CONF.set_override(
            'scheduler_weight_handler', 'cinder.scheduler.weights.'
            'stochastic.StochasticHostWeightHandler')
        self.useFixture(fixtures.MonkeyPatch('random.random', lambda: 0.99))
        self.cloud.restart()
        self.pools(A, B)
        self.assertEqual(B, self.cloud.create().host)

    def test_removing_the_line_restores_what_was(self):
        self.busy(a=8, b=64)
        self.cloud.pool(B, 10, free_gib=950, serifos_model='ssd')
        cloud.CONF.set_override('scheduler_default_weighers',
                                ['CapacityWeigher'])
        self.assertEqual(B, self.cloud.create().host)


def _counts(made, number):
    found = {}
    for _ in range(number):
        host = made.create().host
        found[host] = found.get(host, 0) + 1
    return found
