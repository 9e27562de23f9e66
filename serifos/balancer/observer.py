# SPDX-License-Identifier: Apache-2.0
"""One observation of the cloud: Cinder's inventory, activity and models.

It is written to ``cluster.json``, and says of each migration under way
whether it may still run.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses

from oslo_log import log

from serifos.balancer import join
from serifos.balancer import journal_time
from serifos.balancer import planning
from serifos.balancer import recover
from serifos.balancer import settings as sg
from serifos.balancer import stuck
from serifos.balancer import verdict as vd
from serifos.balancer import whereabouts
from serifos import errors
from serifos.facts import activity
from serifos.facts import cluster as cl
from serifos.facts import inventory as inv
from serifos.facts import journal as jn
from serifos.files import documents as store
from serifos.files import model_files
from serifos.model import model as mm
from serifos.plan import eligibility

LOG = log.getLogger(__name__)

_MOST_ASKED = 50
"""Backends that may be asked what they hold, for one volume."""


@dataclasses.dataclass(frozen=True)
class Observation:
    """What was seen at one moment.

    :param models: those that the pools name and that can be used
    :param verdicts: of the migrations under way, and of what was left
    """

    inventory: inv.Inventory
    observed: activity.Observed
    cluster: cl.Cluster
    models: Mapping[str, mm.Model]
    verdicts: tuple[vd.Verdict, ...] = ()

    def hindrances(self, least: int = 2) -> list[str]:
        """Why nothing may be moved now, a sentence each.

        :param least: pools that have to be seen, with a model
        """
        return [*(verdict.sentence() for verdict in self.verdicts
                  if verdict.over and eligibility.migrating(verdict.record)),
                *join.hindrances(self.inventory, self.cluster, self.models,
                                 least)]


@dataclasses.dataclass(frozen=True)
class Observer:
    """What observations are made with.

    :param clock: seconds of the epoch
    """

    cinder: inv.Cloud
    telemetry: activity.Telemetry
    journal: jn.Journal
    settings: sg.Settings
    clock: Callable[[], float]

    def observe(self, cool_down: bool = True) -> Observation:
        """Looks at everything and writes ``cluster.json``.

        :param cool_down: whether volumes that were just moved stay
        :raises CloudError: where Cinder or telemetry does not answer; the
            file is left as it was
        """
        settings = self.settings
        entries = journal_time.bounded(self.journal.entries(), self.clock())
        inventory = recover.recalled(self.cinder.inventory(), entries)
        now = self.clock()
        observed = self.telemetry.observe(
            join.places(inventory), settings.window_s,
            [pool.name for pool in inventory.pools])
        cluster = join.cluster(
            inventory, observed, model_files.stems(settings.models_dir),
            dataclasses.replace(
                settings.rules,
                cool_down_s=settings.cool_down_s if cool_down else 0.0,
                moved_at=jn.last_moves(entries),
                back_off_until=jn.back_offs(entries, self.clock())))
        store.write_cluster(settings.cluster_file, cluster)
        active = sum(volume.workload is not None and volume.workload.is_active(
            settings.limits.active_floor) for volume in cluster.volumes)
        LOG.info('Observed %d pools, %d volumes, %d of them active, %d '
                 'without telemetry.', len(cluster.pools),
                 len(cluster.volumes), active, sum(
                     volume.workload is None for volume in cluster.volumes))
        models, broken = model_files.readable(
            settings.models_dir,
            {pool.model for pool in cluster.pools if pool.model})
        for gap in (*join.gaps(inventory, observed, cluster), *(
                planning.without(cluster, stem, why)
                for stem, why in broken.items())):
            LOG.warning('%s', gap)
        seen = Observation(inventory, observed, cluster, models, tuple(
            self._verdicts(inventory, observed, now)))
        for verdict in seen.verdicts:
            if verdict.over and not eligibility.migrating(verdict.record):
                LOG.warning('%s', verdict.sentence())
        return seen

    def _verdicts(self, inventory: inv.Inventory,
                  observed: activity.Observed,
                  now: float) -> Iterator[vd.Verdict]:
        """What became of the migrations under way, and of their copies."""
        watched = self._watch(inventory, observed)
        groups = whereabouts.groups_of(inventory)
        for verdict in stuck.verdicts(inventory, watched, now):
            if not verdict.forgotten:
                yield verdict
                continue
            pools = self._pools(verdict, groups) & {*groups}
            try:
                names = {pool: self.cinder.logical_volumes(pool)
                         for pool in sorted(pools)}
            except errors.CloudError as exc:
                yield dataclasses.replace(verdict, forgotten=False, why=(
                    'Cinder does not list the logical volumes of '
                    f'{" and ".join(sorted(pools))}: {exc}'.rstrip('.')))
                continue
            yield stuck.decide(verdict, names, groups, watched)

    def _pools(self, verdict: vd.Verdict,
               groups: Collection[str]) -> set[str]:
        """Where its logical volumes may be.

        Where it is on its target already its old one may be anywhere else,
        unless it was us who asked.
        """
        asked = [entry.facts['source'] for entry in self.journal.entries()
                 if entry.kind == 'request'
                 and entry.facts['volume'] == verdict.record.id]
        if not asked and len(groups) <= _MOST_ASKED and any(
                half.target_of and half.pool == verdict.record.pool
                for half in verdict.halves):
            return {*groups}
        return {*asked[-1:], *(end.pool for end in verdict.ends if end.pool)}

    def _watch(self, inventory: inv.Inventory,
               observed: activity.Observed) -> activity.Observed:
        """What the migrations under way did, long enough to judge them."""
        found = stuck.suspects(inventory)
        if not found:
            return observed
        ends = {*found, *(half.id for halves in found.values()
                          for half in halves)}
        return self.telemetry.observe(
            [place for place in join.places(inventory)
             if place.volume in ends],
            max(self.settings.window_s, stuck.WATCH_S))

    def verdict(self, volume: str) -> vd.Verdict:
        """Whether the migration of a volume has been forgotten.

        :raises InputError: where none is under way
        """
        seen = self.observe()
        record = seen.inventory.record_by_id.get(volume)
        if record is None:
            raise errors.InputError(f'Cinder has no volume {volume}.')
        found = next((verdict for verdict in seen.verdicts
                      if verdict.record.id == volume), None)
        if found is None:
            raise errors.InputError(
                f'Volume {volume} is not being migrated (its migration '
                f'status is {record.migration_status}) and no copy of it is '
                'left; there is nothing to recover.')
        return found
