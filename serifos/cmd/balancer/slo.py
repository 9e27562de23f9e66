# SPDX-License-Identifier: Apache-2.0
"""serifos-balancer slo: which SLO pools can meet at which load."""

from __future__ import annotations

import argparse
import dataclasses
import functools
from typing import Any

from serifos.balancer import planning
from serifos.balancer.settings import BalancerSettings
from serifos.cmd.balancer import configuration
from serifos.cmd.balancer import stored_history
from serifos.cmd import listing
from serifos.cmd import options
from serifos.cmd import output
from serifos import errors
from serifos.facts import phrases
from serifos.plan import supported
from serifos.report import plan_text
from serifos.report import table
from serifos.report import wording

_LOADS = (0.5, 1.0, 1.5, 2.0, 3.0)

_OF_A_POOL = tuple(
    field.name for field in dataclasses.fields(supported.Supported)
    if field.name != 'seen_us')
"""Figures of a pool in the document, beside its loads."""


class Slo(listing.Listing):
    """Tell which SLO each pool can meet at which load.

    That is the latency which 99 % of its volumes are predicted to stay below,
    now (1) and with more or fewer of the same volumes; and up to which load
    the SLOs (serifos:max_latency_us) are kept. Where plans
    are made by days ([balancer] window), a second table has the same for
    these. Nothing is written.
    """

    document, rows = 'a document of pools and loads', 'the pools'

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        options.add_observation(parser)
        options.add_long(parser)
        parser.add_argument(
            '--load', type=float, action='append', metavar='FACTOR',
            help='a multiple of the present load; may be given several '
            f'times (default: {", ".join(f"{load:g}" for load in _LOADS)})')
        parser.add_argument(
            '--share', type=float, default=99.0, metavar='PERCENT',
            help='share of the volumes that stay below a latency (default: '
            '99)')
        output.add_out(parser, 'that document')
        return parser

    def take_action(self, parsed_args: argparse.Namespace
                    ) -> listing.Listed:
        conf = self.app.conf
        output.refuse_unwritable(parsed_args)
        loads, share = _checked(parsed_args)
        directory = configuration.models_dir(conf, parsed_args.models)
        cluster = configuration.cluster(conf, parsed_args.cluster)
        planning.warn_of_strays(cluster, self.say)
        limits = configuration.limits_of(conf)
        fleet = planning.corrected_fleet(
            cluster, planning.read_models(cluster, directory, self.say),
            limits.active_floor)
        judged = functools.partial(
            supported.supported, cluster, fleet, limits, loads, share / 100)
        past = stored_history.slots(conf, cluster, self.say)
        settings = configuration.settings(conf)
        if past is None and settings.history_s:
            self.say('Nothing is known of the days before; serifos-balancer '
                     'run records what volumes do.')
        shown = _Shown(loads, share, settings)
        found = judged(), None if past is None else judged(slots=past)
        document = shown.document(*found)
        output.write(parsed_args, document)
        return self.listed(document, lambda: f'{shown.text(*found)}\n',
                           document['pools'], (*_OF_A_POOL, 'at'))


def _checked(parsed_args: argparse.Namespace
             ) -> tuple[tuple[float, ...], float]:
    loads = tuple(parsed_args.load or _LOADS)
    for load in loads:
        if not 0 < load <= 1000:
            raise errors.InputError(
                f'A load of {load:g} cannot be looked at; give a factor '
                'above 0, up to 1000.')
    if not 0 < parsed_args.share <= 100:
        raise errors.InputError(
            f'{parsed_args.share:g} % of the volumes cannot stay below; give '
            'above 0 to 100.')
    return loads, parsed_args.share


@dataclasses.dataclass(frozen=True)
class _Shown:
    """How it is shown.

    :param share: percent
    """

    loads: tuple[float, ...]
    share: float
    settings: BalancerSettings

    def document(self, now: list[supported.Supported],
                 past: list[supported.Supported] | None) -> dict[str, Any]:
        """A document; its ``window`` is null where the past is not known."""
        return {
            'share_pct': self.share, **self._document(now),
            'window': None if past is None else {
                'seconds': self.settings.history_s,
                **self._document(past)}}

    def text(self, now: list[supported.Supported],
             past: list[supported.Supported] | None) -> str:
        """A table of the present, and one of the past where it is known."""
        tables = [self._table(now, (
            f'What {self.share:g} % of the active volumes stay below at so '
            'many times the load, ms.'))]
        if past is not None:
            tables += ['', self._table(past, (
                'The same by what they did in the last '
                f'{self.settings.history_s / 3600:g} hours, as plans judge '
                'pools.'))]
        return '\n'.join(tables)

    def _document(self, found: list[supported.Supported]) -> dict[str, Any]:
        *pools, cluster = ({
            **{name: getattr(each, name) for name in _OF_A_POOL
               if name != 'pool' or each.pool is not None},
            'at': [{'load': load, 'latency_us': us}
                   for load, us in zip(self.loads, each.seen_us)]}
            for each in found)
        return {'cluster': cluster, 'pools': pools}

    def _table(self, found: list[supported.Supported], title: str) -> str:
        short = wording.pools(each.pool for each in found if each.pool)
        *pools, cluster = found
        shown = pools if len(pools) <= plan_text.ALL else sorted(
            pools, key=lambda each: (
                each.kept_up_to is None, each.kept_up_to or 0.0,
                -max(each.seen_us, default=0.0)))[:plan_text.MOST]
        more = len(pools) - len(shown)
        rows = [(short.get(each.pool or '', 'all'), each.volumes,
                 each.outstanding, each.slo_us and each.slo_us / 1e3,
                 _times(each),
                 *([us / 1e3 for us in each.seen_us]
                   or [None] * len(self.loads)))
                for each in (*shown, cluster)]
        return table.as_text(table.Table(
            ('pool', 'active', 'outstanding', 'SLO, ms', 'met up to',
             *(f'x {load:g}' for load in self.loads)), rows, title)) + (
            f'\nand {phrases.count(more, "other pool")} that can do more; '
            '-f csv has all' if more else '')


def _times(each: supported.Supported) -> str | None:
    if each.kept_up_to is None:
        return None
    if each.kept_up_to <= 0:
        return f'under x {1 / supported.MOST:.2f}'
    more = 'over ' * (each.kept_up_to * supported.STEP > supported.MOST)
    return f'{more}x {each.kept_up_to:.2f}'
