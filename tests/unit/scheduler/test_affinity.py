# SPDX-License-Identifier: Apache-2.0
"""New volumes that are to share a pool with others, or to be kept apart."""

import ddt

from tests.unit.scheduler import cloud  # first: it skips without Cinder

from serifos.facts.cluster import Pool
from tests.unit.scheduler import files
from tests.unit.scheduler import test_weigher

A, B = test_weigher.A, test_weigher.B
ID, OTHER = (f'{n}0000000-0000-4000-8000-000000000000' for n in 'ab')
GROUP = (f'group web of project {cloud.PROJECT}',)


class Case(test_weigher.Case):

    def observed(self, pools=(A, B), **facts):
        """A is the faster one, with a volume that does little."""
        self.files.cluster(
            [*pools], [files.volume(ID, A, 1, project_id=cloud.PROJECT,
                                    **facts), files.volume('2', B, 64)])
        self.pools(A, B, allocated_gib=10)

    def home(self, **metadata):
        return self.cloud.create(**{
            f'serifos__{key}': value
            for key, value in metadata.items()}).host


class Wishes:
    """Whatever the plugin: a weigher, or a driver, each with the filter."""

    def test_of_a_group(self):
        self.observed(different_pool=GROUP)
        self.assertEqual(A, self.home())
        self.assertEqual(A, self.home(different_pool='mail'))
        self.assertEqual(B, self.home(different_pool='web'))

    def test_of_a_volume(self):
        self.observed()
        self.assertEqual(B, self.home(different_pool=f'{OTHER},{ID}'))
        self.assertEqual(A, self.home(same_pool=ID))

    def test_to_be_with_others(self):
        self.observed(same_pool=GROUP)
        self.files.cluster([A, B], [
            files.volume('1', A, 8), files.volume(
                '2', B, 64, same_pool=GROUP)])
        self.assertEqual(B, self.home(same_pool='web'))
        self.assertEqual(A, self.home(same_pool='mail'))

    def test_other_projects_do_not_count(self):
        self.observed()
        self.files.cluster([A, B], [
            files.volume(ID, A, 1, project_id='q',
                         different_pool=('group web of project q',)),
            files.volume('2', B, 64)])
        self.assertEqual(A, self.home(different_pool=f'{ID},web'))

    def test_pools_of_one_device_are_one(self):
        self.observed((Pool(A, 'ssd', device='sda'),
                       Pool(B, 'ssd', device='sda')),
                      different_pool=GROUP)
        self.assertIsNone(self.home(different_pool='web'))
        self.assertEqual(A, self.home(same_pool=ID))

    def test_what_cannot_be_had_is_an_error(self):
        self.observed(different_pool=GROUP, same_pool=GROUP)
        volume = self.cloud.create(serifos__different_pool='web',
                                   serifos__same_pool='web')
        self.assertEqual((None, 'error'), (volume.host, volume.status))
        self.assertIn(f'the first {A}: volume {ID} is on its device',
                      self.log.output)

    def test_a_volume_whose_backend_failed_goes_to_another(self):
        self.observed()
        metadata = {'serifos__same_pool': 'web',
                    'serifos__different_pool': 'raid'}
        volume = self.cloud.create(**metadata)
        self.assertEqual(A, volume.host)
        self.files.cluster([A, B], [files.volume(
            volume.id, A, 1, project_id=cloud.PROJECT, same_pool=GROUP,
            different_pool=(GROUP[0].replace('web', 'raid'),)),
            files.volume('2', B, 64)])
        self.pools(A, allocated_gib=10, free_gib=1)
        self.assertEqual(B, self.cloud.bring(volume, **metadata).host)

    def test_without_models(self):
        self.observed(different_pool=GROUP)
        self.pools(A, B, model='none', allocated_gib=10)
        self.assertEqual(B, self.home(different_pool='web'))

    def test_without_an_observation_it_may_live_anywhere(self):
        self.pools(A, B)
        self.assertIsNotNone(self.home(different_pool='web'))

    def test_a_volume_that_moves_is_not_asked(self):
        self.observed(different_pool=GROUP)
        volume = self.cloud.living(B)
        self.assertEqual(A, self.cloud.passes(volume, A, 'migrate_volume'))


class OfWeigherTest(Wishes, Case):
    pass


class OfDriverTest(Wishes, Case):

    scheduler = cloud.SERIFOS

    def weighers(self):
        return ['CapacityWeigher']

    def test_a_volume_whose_backend_failed_is_not_observed_yet(self):
        self.observed()
        volume = self.cloud.create(serifos__same_pool='web')
        self.assertEqual(A, volume.host)
        self.pools(A, allocated_gib=10, free_gib=1)
        self.assertEqual(B, self.cloud.bring(
            volume, serifos__same_pool='web').host)
        self.assertEqual(B, self.home(same_pool='web'))

    def test_a_burst_is_kept_apart(self):
        self.observed()
        self.assertEqual({A, B}, {
            self.home(different_pool='raid') for _ in range(2)})
        self.assertIsNone(self.home(different_pool='raid'))


@ddt.ddt
class WithoutFilterTest(Case):
    """Then it is a matter of weight alone."""

    @ddt.data(cloud.STOCK, cloud.SERIFOS)
    def test_pools_that_are_barred_come_last(self, scheduler):
        cloud.CONF.set_override('scheduler_driver', scheduler)
        cloud.CONF.set_override('scheduler_default_filters', cloud.FILTERS)
        cloud.CONF.set_override('scheduler_default_weighers', [
            'SerifosWeigher' if scheduler == cloud.STOCK
            else 'CapacityWeigher'])
        self.cloud.restart()
        self.observed(different_pool=tuple(
            f'group {name} of project {cloud.PROJECT}' for name in 'xyz'))
        for model, name in ('ssd', 'x'), ('none', 'y'):
            self.pools(A, B, model=model, allocated_gib=10)
            self.assertEqual(B, self.home(different_pool=name))
        self.pools(B, allocated_gib=10, free_gib=5)
        self.assertEqual(A, self.home(different_pool='z'))
