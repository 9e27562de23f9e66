# SPDX-License-Identifier: Apache-2.0
"""What is known of a balancer and its cloud, by its files and journal.

Neither Cinder nor telemetry is asked.
"""

from __future__ import annotations

import dataclasses

from oslo_config import cfg

from serifos.balancer import leader
from serifos.balancer.settings import BalancerSettings
from serifos.balancer.settings import MODES
from serifos.balancer.standing.status import Status
from serifos.cmd.balancer import adapters
from serifos.database.journal import Journal
from serifos.database import marks
from serifos import errors
from serifos.facts import clock_skew
from serifos.facts.cluster import Cluster
from serifos.facts.journal import Entry
from serifos.facts.journal import Leader
from serifos.facts import times


@dataclasses.dataclass(frozen=True)
class Seen:
    """The balancer and the last observation.

    :param lead: who leads, unless it ended without a word; None for nobody
    :param cluster: None where there is no observation
    :param entries: of the journal, none of them in the future
    :param problem: why there is no observation, a sentence
    """

    status: Status
    lead: Leader | None
    cluster: Cluster | None
    entries: tuple[Entry, ...]
    problem: str | None = None


def read(conf: cfg.ConfigOpts, journal: Journal, now: float) -> Seen:
    """What there is to see now.

    :param now: seconds of the epoch
    :raises SerifosError: where the journal cannot be read
    """
    cluster, problem = None, None
    try:
        cluster = adapters.cluster(conf, None)
    except errors.InputError as exc:
        problem = str(exc)
    entries = clock_skew.corrected(journal.entries(), now)
    lead, settings = journal.leader(), adapters.settings(conf)
    missing = dataclasses.replace(journal, memory=marks.Memory((
        marks.Observation(settings.cluster_file),))).missing()
    if missing is not None:
        problem = f'Nothing will be moved: {missing}.'
    return Seen(status(settings, entries, cluster, now, lead),
                lead, cluster, entries, problem)


def status(settings: BalancerSettings, entries: tuple[Entry, ...],
           cluster: Cluster | None, now: float,
           lead: Leader | None) -> Status:
    """How the balancer stands.

    :param entries: of the journal, none of them in the future
    :param cluster: the last observation, None where there is none
    :param now: seconds of the epoch
    :param lead: who leads, whose mode counts while it runs
    """
    found = Status.of(settings, entries, observed_at(cluster), now, {
        volume.id: volume.copy_mib_s / 1024
        for volume in ([] if cluster is None else cluster.volumes)
        if volume.copy_mib_s})
    return found if lead is None or lead.mode not in MODES or (
        leader.has_ended(lead.name)) else dataclasses.replace(
            found, mode=lead.mode)


def observed_at(cluster: Cluster | None) -> float | None:
    """Seconds of the epoch; None where it is not known."""
    try:
        return None if cluster is None else times.parse(cluster.observed_at)
    except ValueError:
        return None
