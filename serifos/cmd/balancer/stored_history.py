# SPDX-License-Identifier: Apache-2.0
"""Open the history of volumes that is configured."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import pathlib
import time

from oslo_config import cfg

from serifos.balancer import decide
from serifos.balancer import join
from serifos.balancer import pace
from serifos.balancer.recorder import Accuracy
from serifos.balancer.recorder import Growth
from serifos.balancer.recorder import Recorder
from serifos.cmd.balancer import adapters
from serifos.cmd.balancer import configuration
from serifos.cmd.balancer import databases
from serifos.database import connection
from serifos.database import history_store
from serifos.database.history_store import Store
from serifos.database.history_store import TIERS
from serifos.database import journal
from serifos.database import pool_errors
from serifos.database.space import Homes
from serifos.database.space import Space
from serifos import errors
from serifos.facts import activity
from serifos.facts.activity import History
from serifos.facts.activity import Telemetry
from serifos.facts.cluster import Cluster
from serifos.facts.journal import last_moves
from serifos.facts import pool_errors as errors_of_pools
from serifos.files import owners
from serifos.plan.limits import Limits
from serifos.plan.slots import Slots
from serifos.telemetry.remembered import Memory
from serifos.telemetry.remembered import Remembered
from serifos.telemetry import window

_HOUR, _DAY = 3600, 86400


def store(conf: cfg.ConfigOpts) -> Store:
    """The database of the history, from [history].

    :raises InputError: where its URL is invalid
    """
    said = conf.history
    minute, five, hour = (tier.step_s for tier in TIERS)
    return Store(
        databases.history(conf),
        (history_store.Tier(minute, said.hours_of_minutes * _HOUR),
         history_store.Tier(five, said.days_of_five_minutes * _DAY),
         history_store.Tier(hour, said.weeks_of_hours * 7 * _DAY)))


def growth(conf: cfg.ConfigOpts) -> Growth | None:
    """What tells how fast pools fill; None without a capacity_horizon.

    :raises InputError: where the database's URL is invalid
    """
    horizon_s = conf.balancer.capacity_horizon
    return _growth(store(conf).database, horizon_s) if horizon_s else None


def growth_in(file: pathlib.Path, horizon_s: float) -> Growth:
    """The same, by what is kept in a file of SQLite."""
    return _growth(connection.Database(
        f'sqlite:///{file}', content=connection.HISTORY), horizon_s)


def _growth(database: connection.Database, horizon_s: float) -> Growth:
    kept = database, 2 * horizon_s
    return Growth(Space(*kept), Homes(*kept), horizon_s)


def accuracy(conf: cfg.ConfigOpts) -> Accuracy:
    """What holds predictions against what pools show.

    :raises InputError: where the database's URL is invalid
    """
    database = store(conf).database
    return Accuracy(pool_errors.PoolErrors(database),
                    database.file is not None)


def hours(conf: cfg.ConfigOpts, cluster: Cluster) -> errors_of_pools.Hours:
    """The errors of pools before an observation; none if not known.

    Root reads it as the owner of state_dir.
    """
    end = _observed_at(cluster)
    try:
        with owners.as_owner(configuration.settings(conf).state_dir):
            return accuracy(conf).kept.hours(
                end - errors_of_pools.PROVES_S, end)
    except errors.SerifosError:
        return {}


def _observed_at(cluster: Cluster) -> float:
    """When an observation was made, s of the epoch; now if unknown."""
    found = configuration.observed_at(cluster)
    return time.time() if found is None else found


def recorder(conf: cfg.ConfigOpts,
             source: Telemetry) -> Recorder | None:
    """What keeps the history; None where the source has it by itself."""
    if source.readings is not None:
        return Recorder(
            store(conf), source.readings,
            window.STALE_INTERVALS * conf.telemetry.interval,
            configuration.kept_s(conf))
    return None if source.history is not None else Recorder(store(conf))


def at_learnt_rates(conf: cfg.ConfigOpts, limits: Limits,
                    say: Callable[[str], None]) -> Limits:
    """The limits as rounds have them, as far as the journal can be read.

    Root reads it as the owner of state_dir.

    :param say: is called with a sentence where it cannot be
    """
    settings = configuration.settings(conf)
    kept = journal.Journal(databases.database(conf), time.time)
    try:
        with owners.as_owner(settings.state_dir):
            return pace.at_learnt_rates(limits, kept.entries())
    except errors.SerifosError as exc:
        say(f'Copy rates of earlier migrations are not used: {exc}')
        return limits


@dataclasses.dataclass(frozen=True)
class Past:
    """The past of volumes, as the configuration has it.

    :param history: of the source, else what serifos keeps
    :param kept: the same where serifos keeps it, else None
    """

    history: History
    kept: Store | None

    @classmethod
    def of(cls, conf: cfg.ConfigOpts,
           source: Telemetry | None = None) -> Past:
        """By the source, else by the database.

        :param source: None for that of [telemetry]
        :raises InputError: where the configuration cannot be used
        """
        source = source or adapters.telemetry(conf)
        kept = store(conf) if source.history is None else None
        return cls(source.history or kept, kept)

    def places(self, conf: cfg.ConfigOpts, homes: Mapping[str, str]
               ) -> list[activity.MeasuredVolume]:
        """Where volumes are, as far as the source has to know that.

        :param homes: volume → its pool, or an empty name
        :raises SerifosError: where Cinder or the journal cannot be asked
        """
        if self.kept is not None:
            return [activity.MeasuredVolume(volume, volume, pool)
                    for volume, pool in homes.items()]
        moved = last_moves(journal.Journal(
            databases.database(conf), time.time).entries())
        return [place for place in join.places(
            adapters.cinder(conf).inventory(), moved)
            if place.volume in homes]


def slots(conf: cfg.ConfigOpts, cluster: Cluster,
          say: Callable[[str], None]) -> Slots | None:
    """What the volumes of an observation did before it, as plans take it.

    Root reads them as the owner of state_dir.

    :param say: is called with a sentence where that cannot be read
    :returns: None where it is not, or the present is planned for
    """
    settings = configuration.settings(conf)
    if not settings.history_s:
        return None
    try:
        with owners.as_owner(settings.state_dir):
            past = Past.of(conf)
            places = past.places(conf, {
                volume.id: volume.pool for volume in cluster.volumes})
            return decide.slots(past.history, places, _observed_at(cluster),
                                settings)
    except errors.SerifosError as exc:
        say(f'The history is not used: {exc}')
        return None


def remembered(source: Telemetry, history: History | None,
               memory: Memory) -> History | None:
    """The same for round after round, where reading it takes long."""
    if history is None or source.history is None:
        return history
    return Remembered(history, memory, time.time, source.settled_s)
