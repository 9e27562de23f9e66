# SPDX-License-Identifier: Apache-2.0
"""What is known of a balancer and its cloud, by its files and journal.

Neither Cinder nor telemetry is asked.
"""

from __future__ import annotations

import dataclasses

from oslo_config import cfg

from serifos.balancer import leader
from serifos.balancer import settings as sg
from serifos.balancer.standing import status as st
from serifos.cmd.balancer import adapters
from serifos.database import journal as db
from serifos.database import marks
from serifos import errors
from serifos.facts import clock_skew
from serifos.facts import cluster as cl
from serifos.facts import journal as jn
from serifos.facts import times


@dataclasses.dataclass(frozen=True)
class Seen:
    """The balancer and the last observation.

    :param lead: who leads, unless it ended without a word; None for nobody
    :param cluster: None where there is no observation
    :param entries: of the journal, none of them in the future
    :param problem: why there is no observation, a sentence
    """

    status: st.Status
    lead: jn.Leader | None
    cluster: cl.Cluster | None
    entries: tuple[jn.Entry, ...]
    problem: str | None = None


def read(conf: cfg.ConfigOpts, journal: db.Journal, now: float) -> Seen:
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


def status(settings: sg.BalancerSettings, entries: tuple[jn.Entry, ...],
           cluster: cl.Cluster | None, now: float,
           lead: jn.Leader | None) -> st.Status:
    """How the balancer stands.

    :param entries: of the journal, none of them in the future
    :param cluster: the last observation, None where there is none
    :param now: seconds of the epoch
    :param lead: who leads, whose mode counts while it runs
    """
    found = st.Status.of(settings, entries, observed_at(cluster), now, {
        volume.id: volume.copy_mib_s / 1024
        for volume in ([] if cluster is None else cluster.volumes)
        if volume.copy_mib_s})
    return found if lead is None or lead.mode not in sg.MODES or (
        leader.has_ended(lead.name)) else dataclasses.replace(
            found, mode=lead.mode)


def observed_at(cluster: cl.Cluster | None) -> float | None:
    """Seconds of the epoch; None where it is not known."""
    try:
        return None if cluster is None else times.parse(cluster.observed_at)
    except ValueError:
        return None
