# SPDX-License-Identifier: Apache-2.0
"""One observation of the cloud: Cinder's inventory, activity and models.

It is written to ``cluster.json``; each migration under way is diagnosed, and
what hinders moves is named.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import functools

from oslo_log import log

from serifos.balancer import join
from serifos.balancer import planning
from serifos.balancer import recorder
from serifos.balancer.recorder import Accuracy
from serifos.balancer.recorder import drifted
from serifos.balancer.recorder import Recorder
from serifos.balancer.recovery.diagnoser import Diagnoser
from serifos.balancer.recovery.diagnosis import Diagnosis
from serifos.balancer.recovery import recover
from serifos.balancer.settings import BalancerSettings
from serifos import errors
from serifos.facts import activity
from serifos.facts.activity import Telemetry
from serifos.facts import cluster
from serifos.facts.cluster import Cluster
from serifos.facts import fields
from serifos.facts.inventory import Cloud
from serifos.facts.inventory import Inventory
from serifos.facts import journal
from serifos.facts.journal import back_offs
from serifos.facts.journal import Journal
from serifos.facts.journal import last_moves
from serifos.facts import names
from serifos.facts import pool_errors
from serifos.facts.servers import Compute
from serifos.facts.servers import NOT_CONFIGURED
from serifos.facts.servers import Servers
from serifos.facts import settings
from serifos.facts import throttling
from serifos.files import documents
from serifos.model.model import Model
from serifos.model import pool_sums
from serifos.plan import eligibility
from serifos.plan import sentences

LOG = log.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Observation:
    """The cloud at one moment.

    :param cluster: in which the pools of stuck migrations take part in no
        move; in the file they are as they were
    :param models: the usable models that the pools name
    :param watched: the activity by which the diagnoses are made
    :param diagnoses: of the migrations under way, and of copies left behind
    :param hours: what pools showed in the last ones
    """

    inventory: Inventory
    observed: activity.Observed
    cluster: Cluster
    models: Mapping[str, Model]
    watched: activity.Observed
    diagnoses: tuple[Diagnosis, ...] = ()
    hours: pool_errors.Hours = dataclasses.field(default_factory=dict)

    def hindrances(self, least: int = 2) -> list[str]:
        """Hindrances to any move now, a sentence each.

        :param least: pools with telemetry and a model that are needed
        """
        return [*(found.sentence() for found in self.diagnoses
                  if found.over and not found.halves),
                *hindrances(self.inventory, self.cluster, self.models,
                            least, self.over)]

    @property
    def over(self) -> frozenset[str]:
        """Volumes whose migrations nobody goes on with, of known pools.

        Without a record of the copy its pool is not known.
        """
        return frozenset(found.record.id for found in self.diagnoses
                         if found.over and found.halves)


@dataclasses.dataclass(frozen=True)
class Observer:
    """Makes observations.

    :param clock: seconds of the epoch
    :param qemu_us: window, s → latencies as QEMU sees them, by the serial
        number of the disk
    :param recorder: what keeps the history; None where it is read elsewhere
    :param growth: how fast pools fill; None where nobody asks
    :param accuracy: how far predictions were off; None where nobody asks
    """

    cinder: Cloud
    telemetry: Telemetry
    journal: Journal
    settings: BalancerSettings
    clock: Callable[[], float]
    nova: Compute = NOT_CONFIGURED
    qemu_us: Callable[[float], Mapping[str, float]] = lambda _: {}
    recorder: Recorder | None = None
    growth: recorder.Growth | None = None
    accuracy: Accuracy | None = None

    def as_follower(self) -> Observer:
        """This observer while another balancer leads.

        It leaves a history that they share to the leader.
        """
        recorder, accuracy = self.recorder, self.accuracy
        return dataclasses.replace(
            self, recorder=recorder and (
                recorder if recorder.is_ours else None),
            accuracy=accuracy and dataclasses.replace(
                accuracy, writes=accuracy.is_ours))

    @property
    def diagnoser(self) -> Diagnoser:
        return Diagnoser(
            self.cinder, self.telemetry, self.journal, self.nova,
            self.settings.window_s, self.settings.timeouts)

    def observe(self, cool_down: bool = True) -> Observation:
        """Observes the cloud, writes ``cluster.json`` and ``pools.json``.

        :param cool_down: whether volumes that were just moved may not move
        :raises CloudError: where Cinder or telemetry does not answer; the
            file is left as it was
        """
        settings, mark = self.settings, self.journal.mark()
        entries = journal.corrected(self.journal.entries(), self.clock())
        inventory = recover.recalled(
            self.cinder.inventory().within(settings.zones), entries)
        servers = self._servers(inventory)
        now, moved_at = self.clock(), last_moves(entries)
        places = join.places(inventory, moved_at)
        observed = self.telemetry.observe(
            places, settings.window_s,
            [pool.name for pool in inventory.pools])
        cluster = join.cluster(
            inventory, observed, documents.model_stems(settings.models_dir),
            dataclasses.replace(
                settings.rules, servers=servers,
                cool_down_s=settings.cool_down_s if cool_down else None,
                moved_at=moved_at,
                back_off_until=back_offs(entries, self.clock())),
            self.qemu_us(settings.window_s), now)
        cluster = throttling.capped(cluster, throttling.caps(
            inventory, cluster.volumes), observed.in_qemu)
        hours = {} if self.accuracy is None else self.accuracy.hours(
            observed.at)
        cluster = drifted(cluster, hours, observed.at)
        if self.growth is not None:
            cluster = self.growth.added(cluster, entries, observed.at)
            recorder.warn(cluster, settings.limits)
        models = planning.read_models(
            cluster, settings.models_dir,
            functools.partial(LOG.warning, '%s'), settings.limits.hot_by)
        checks = planning.model_checks(cluster, settings.limits, models)
        cluster = planning.measured(
            cluster, settings.limits, models, hours, checks)
        unexplained = sentences.unexplained(cluster.pools)
        if unexplained is not None:
            LOG.warning('%s', unexplained)
        cluster = dataclasses.replace(cluster, mark=mark)
        documents.write_cluster(settings.cluster_file, cluster)
        documents.write_pools(settings.pools_file, pool_sums.of(
            cluster, models, settings.limits.active_floor,
            {record.id: record.created_at for record in inventory.records}))
        if self.recorder is not None:
            self.recorder.record(inventory, places, observed)
        active = sum(volume.workload is not None and volume.workload.is_active(
            settings.limits.active_floor) for volume in cluster.volumes)
        LOG.info('Observed %d pools, %d volumes, %d of them active, %d '
                 'without telemetry.', len(cluster.pools),
                 len(cluster.volumes), active, sum(
                     volume.workload is None for volume in cluster.volumes))
        for gap in gaps(inventory, observed, cluster):
            LOG.warning('%s', gap)
        if self.accuracy is not None:
            self.accuracy.note(cluster, checks, entries, observed.at)
        watched = self.diagnoser.watch(inventory, observed)
        diagnoses = tuple(self.diagnoser.diagnoses(
            inventory, watched, now))
        pools = {end.pool for diagnosis in diagnoses if diagnosis.over
                 for end in diagnosis.ends}
        for diagnosis in diagnoses:
            if diagnosis.over:
                LOG.warning('%s', diagnosis.sentence())
            else:
                LOG.info('The migration of volume %s counts as running: %s.',
                         diagnosis.record.id, diagnosis.why)
        return Observation(inventory, observed, join.touched(cluster, pools),
                           models, watched, diagnoses, hours)

    def refresh(self) -> dict[str, str]:
        """Updates ``cluster.json`` while a migration runs.

        Volume → a sentence, for each that nobody goes on with.
        """
        try:
            return {found.record.id: found.sentence()
                    for found in self.observe().diagnoses if found.over}
        except errors.SerifosError as exc:
            LOG.warning('No observation: %s', exc)
            return {}

    def _servers(self, inventory: Inventory) -> Servers:
        """Nova's servers, where a volume is attached to one."""
        if self.settings.allow_attached is False or not any(
                record.attachments for record in inventory.records):
            return Servers()
        found = self.nova.servers()
        if found.problem is not None:
            LOG.warning('Attached volumes stay: Nova could not be asked: '
                        '%s.', found.problem)
        elif found.absent is not None and self.settings.allow_attached:
            LOG.warning('Attached volumes are moved without asking Nova '
                        'whether it can copy them: %s.', found.absent)
        return found

    def diagnose(self, volume: str, disk: str | None = None,
                 keep: bool = False) -> Diagnosis:
        """Whether the migration of a volume has been forgotten.

        :param disk: the iSCSI target that its server's disk uses
        :param keep: whether its copy is kept in any case
        :raises InputError: where none is under way, or the disk is of
            another volume
        """
        seen = self.observe()
        record = seen.inventory.record_by_id.get(volume)
        if record is None:
            raise errors.InputError(f'Cinder has no volume {volume}.')
        found = next((diagnosis for diagnosis in seen.diagnoses
                      if diagnosis.record.id == volume), None)
        if found is None:
            raise errors.InputError(
                f'Volume {volume} is not being migrated (its migration '
                f'status is {record.migration_status}) and no copy of it is '
                'left; there is nothing to recover.')
        if found.stuck or found.complete:
            found = self.diagnoser.proven(
                found, seen.inventory, disk, keep)
        if keep and found.forgotten:
            found = dataclasses.replace(found, keep=True)
            if found.kept is None:
                raise errors.InputError(
                    f'Volume {volume} has no copy with data of its own; run '
                    'recover without --keep-copy.')
        return found


def hindrances(inventory: Inventory, found: cluster.Cluster,
               models: Collection[str], least: int,
               over: Collection[str] = ()) -> Iterator[str]:
    """Hindrances to any move now, a sentence each.

    :param models: the names of the usable ones
    :param least: pools that have to be seen, with a model
    :param over: volumes whose migrations nobody goes on with
    """
    yield from in_flight(inventory, over)
    homes = {volume.pool for volume in found.volumes}
    for pool in found.pools:
        service = inventory.service_of(pool.name)
        if pool.state == 'down' and pool.name in homes and (
                service is None or service.enabled):
            yield f'Pool {pool.name} is down.'
    lively = [pool for pool in found.pools
              if pool.state == 'up' and pool.model in models]
    if len(lively) < least:
        touched = sum(pool.state == cluster.TOUCHED for pool in found.pools)
        yield (f'{len(lively)} of {len(found.pools)} pools are up, seen by '
               'telemetry and have a model'
               + f', {touched} are {cluster.TOUCHED}' * bool(touched)
               + f'; moves need {least}.')


def in_flight(inventory: Inventory,
              over: Collection[str] = ()) -> Iterator[str]:
    """The migrations under way, ours or others', a sentence each.

    A volume that cannot be read may be migrating.

    :param over: volumes whose migrations nobody goes on with
    """
    for unread in inventory.unread:
        if unread.migration_status not in eligibility.AT_REST:
            yield unread.sentence()
    for record in inventory.records:
        if record.id in over or eligibility.leftover_of(record) in over:
            continue
        if eligibility.migrating(record) and not eligibility.hidden(record):
            yield (f'Volume {record.id} on {record.pool} is being migrated '
                   f'({record.migration_status}).')
        elif (source := eligibility.leftover_of(record)) is not None:
            yield (f'The old copy of volume {source} on {record.pool} is '
                   f'{record.status}.')


def gaps(inventory: Inventory, observed: activity.Observed,
         found: cluster.Cluster) -> Iterator[str]:
    """Unknown things that a plan leaves out, a sentence each."""
    named = {stats.name: stats.model for stats in inventory.pools}
    for unread in inventory.unread:
        yield unread.sentence()
    yield from settings.faults(inventory)
    for pool in found.pools:
        if pool.state == cluster.UNSEEN:
            yield (f'Pool {pool.name} is left out: '
                   f'{observed.problems[pool.name]}')
        elif pool.name in observed.problems:
            yield f'Pool {pool.name}: {observed.problems[pool.name]}'
        elif pool.state != 'up':
            yield f'Pool {pool.name} is left out: it is {pool.state}.'
        elif pool.model is None and named.get(pool.name):
            model = named[pool.name]
            yield (f'Pool {pool.name} is left out: it names a model '
                   f'{fields.shown(model)}, a name that '
                   f'{names.model_fault(model)}.')
        elif pool.model is None:
            yield (f'Pool {pool.name} is left out: it names no model; set '
                   'serifos_model in its extra_capabilities.')
