# SPDX-License-Identifier: Apache-2.0
"""What is on the page of a cloud, by the files and the databases.

Nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable

from oslo_config import cfg

from serifos.balancer.standing import of_plans
from serifos.cmd.balancer import adapters
from serifos.cmd.balancer.cloud.planned import Planned
from serifos.cmd.balancer.cloud import recent
from serifos.cmd.balancer.cloud import standing
from serifos.cmd.balancer import histories
from serifos.cmd.console import reading
from serifos.database import journal
from serifos import errors
from serifos.facts import clock_skew
from serifos.facts.journal import Entry
from serifos.facts.pool_errors import Hours
from serifos.report import cloud_charts
from serifos.report import cloud_page

STALE_INTERVALS = 3.0
"""Intervals of [balancer] after which an observation is old."""


def text(conf: cfg.ConfigOpts, planned: Planned, now: float,
         say: Callable[[str], None]) -> str:
    """The page.

    :param now: seconds of the epoch
    :param say: is called with a sentence for what is left out
    :raises SerifosError: where the journal cannot be read
    """
    settings, cluster = adapters.settings(conf), planned.cluster
    entries: tuple[Entry, ...] = ()
    lead, hours, plans = None, {}, []
    if settings.state_dir.is_dir():
        kept = journal.Journal(adapters.database(conf), lambda: now)
        entries = clock_skew.corrected(kept.entries(), now)
        lead, hours = kept.leader(), _hours(conf, now, say)
        plans = of_plans.standings(
            adapters.plans(conf).every(say), entries, now)
    observed_at = reading.observed_at(cluster)
    status = reading.status(settings, entries, cluster, now, lead)
    return cloud_page.render(cloud_page.Facts(
        cluster, planned.seen, planned.explained(), planned.slos(),
        hours, entries, planned.became({
            each.volume for each in status.in_flight})
        + standing.carried_out_by(status),
        recent.last_plan(plans, entries),
        None if observed_at is None else now - observed_at,
        STALE_INTERVALS * conf.balancer.interval, now,
        tuple(recent.sections(status, lead, plans, entries, cluster))))


def _hours(conf: cfg.ConfigOpts, now: float,
           say: Callable[[str], None]) -> Hours:
    try:
        return histories.achieved(conf).kept.hours(
            now - cloud_charts.DAY_S, now)
    except errors.SerifosError as exc:
        say(f'The last day is left out: {exc}')
        return {}
