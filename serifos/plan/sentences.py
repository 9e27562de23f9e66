# SPDX-License-Identifier: Apache-2.0
"""Sentences on a plan: its gains, its costs, trade-offs and warnings.

They are those of a person who has to decide: which pool, from what to what,
which SLOs, how many GiB, how long, and who waits meanwhile. The table of
``plan``, the page of a cloud, ``top``, the verbs and the log take their
sentences from here.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence

from serifos.facts.cluster import Pool
from serifos.facts import hot_by
from serifos.facts import names
from serifos.facts import phrases
from serifos.plan import evacuate
from serifos.plan.outlook import Outlook
from serifos.plan.outlook import PoolOutlook
from serifos.plan.plan import Plan
from serifos.plan import undo

_NAMED = 3


def headline(seen: Outlook, short: Mapping[str, str]) -> str:
    """The outlook of the plan, in sentences.

    :param short: pool → the name that people call it
    """
    if not seen.plan.moves:
        return _nothing(seen, short)
    return ', '.join(filter(None, (
        _relief(seen, short), _restored(seen), price(seen))))


def price(seen: Outlook) -> str:
    """The cost of a plan of at least one move."""
    took, moves, wait = seen.copy_s, len(seen.plan.moves), seen.meanwhile_us
    return f'{seen.gib:,.6g} GiB copied' + (
        f' by {moves:,} moves' if moves > 1 else '') + (
        '' if took is None else f' in about {phrases.duration(took)}'
        + (' if one runs at a time' if moves > 1 else '')) + (
        '.' if wait is None else
        f'; tenants there wait up to {phrases.ms(wait)} ms meanwhile.'
    ) + _worth(seen)


def _worth(seen: Outlook) -> str:
    """GiB for what they bring, a sentence; empty where it is nothing."""
    before, after = violated(seen)
    less_us = sum(was - then for was, then in (
        each.latencies_us for each in seen.relieved))
    parts = [f'{seen.gib / number:,.3g} for {what}' for number, what in (
        (before - after, 'each restored SLO'),
        (less_us / 1e3, 'each ms by which the pools that are left get '
         'faster')) if number > 0]
    return f' GiB copied: {", ".join(parts)}.' * bool(parts)


def basis(seen: Outlook) -> str:
    """By what its pools are judged, in a sentence."""
    window_s = seen.plan.window_s
    if not window_s:
        return ('Judged only by the present, as volumes are used now'
                + by(seen) + '.')
    return (
        f'Judged by {phrases.window(window_s)}: predicted latencies are means '
        'over them' + by(seen) + '.')


def by(seen: Outlook) -> str:
    """What pools are hot by, where that is not what the tables show."""
    return '' if seen.hot_by == hot_by.LATENCY else (
        f'; pools are hot by {hot_by.NAMES[seen.hot_by]}')


def _relief(seen: Outlook, short: Mapping[str, str]) -> str:
    faster = seen.relieved
    if not faster:
        return f'{phrases.count(len(seen.plan.moves), "volume")} moved'
    first, more = faster[0], len(faster) - 1
    return (
        f'{short[first.pool.name]} {phrases.change(*first.latencies_us)} ms'
        + (f' and {phrases.count(more, "other pool")} faster' if more else ''))


def _restored(seen: Outlook) -> str:
    """The violations of SLOs that end, measured ones and forecasts apart."""
    parts = []
    for (before, after), noun, end in (
            (violated(seen), 'SLO violation', 'restored'),
            (forecast(seen), 'forecast SLO violation', 'avoided')):
        if before > after:
            parts.append(
                f'{before - after:,} of {phrases.count(before, noun)} '
                f'{end}')
    return ', '.join(parts)


def violated(seen: Outlook) -> tuple[int, int]:
    """SLOs that are measured to be violated, before and after."""
    return (sum(each.before.violated for each in seen.pools),
            sum(each.after.violated for each in seen.pools))


def forecast(seen: Outlook) -> tuple[int, int]:
    """The others that are predicted to be, before and after."""
    return (sum(each.before.forecast for each in seen.pools),
            sum(each.after.forecast for each in seen.pools))


def _nothing(seen: Outlook, short: Mapping[str, str]) -> str:
    if seen.plan.planner in (evacuate.NAME, undo.NAME):
        stay = sum(each.volumes for each in seen.staying)
        return 'There is nothing to move.' if not stay else (
            f'{phrases.count(stay, "volume")} cannot be moved, for the '
            'reasons below.')
    planned = [each for each in seen.pools if each.planned]
    if not planned:
        return 'Nothing can be planned: no pool has a model.'
    slowest = (f'The slowest pool is {short[planned[0].pool.name]} with '
               f'{phrases.ms(planned[0].before.latency_us)} ms.')
    why = trouble(seen)
    if not why:
        return ('Nothing has to be moved: no pool is hot and no SLO is '
                f'violated. {slowest}')
    return (f'Nothing can be moved, though {why}. {slowest} The reasons are '
            'listed below.')


def trouble(seen: Outlook) -> str:
    """How many pools are hot and how many SLOs violated, a clause.

    Empty where there are none.
    """
    hot = sum(each.before.hot for each in seen.pools)
    return ' and '.join(
        f'{phrases.count(number, noun)} {"is" if number == 1 else "are"} {how}'
        for number, noun, how in (
            (hot, 'pool', 'hot'),
            (violated(seen)[0], 'SLO', 'violated'),
            (forecast(seen)[0], 'SLO', 'forecast to be violated'))
        if number)


def shortcomings(seen: Outlook, short: Mapping[str, str]
                 ) -> Iterator[str]:
    """Limits of the plan's gain, a sentence each."""
    plan = seen.plan
    if not plan.moves:
        return
    for (was, left), noun in ((violated(seen), 'SLO violation'),
                              (forecast(seen), 'forecast SLO violation')):
        if left:
            yield (f'{left:,} of {phrases.count(was, noun)} '
                   f'{"stays" if left == 1 else "stay"}.' if left <= was else
                   f'{phrases.count(left, noun)} afterwards, {was:,} now.')
    hot = int(plan.hot_pools.after)
    if hot:
        yield (
            f'{phrases.count(hot, "pool")} {"is" if hot == 1 else "are"} hot '
            f'afterwards, {int(plan.hot_pools.before):,} now.')
    slowest = next((each for each in seen.pools if each.planned), None)
    if slowest is not None and slowest.pool.name not in seen.touched:
        yield (f'The slowest pool, {short[slowest.pool.name]} with '
               f'{phrases.ms(slowest.before.latency_us)} ms, is not touched.')
    mean = plan.mean_us
    if mean.after > mean.before * (1 + 1e-9):
        yield ('The mean over all pools rises, '
               f'{phrases.change(mean.before, mean.after)} ms.')
    unsure = [each for each in seen.relieved if each.within_interval]
    for each in unsure[:1]:
        assert each.before.expected is not None
        more = (' The same applies to '
                f'{phrases.count(len(unsure) - 1, "other pool")}.'
                if len(unsure) > 1 else '')
        yield (f'The gain of {short[each.pool.name]} lies within the 90 % '
               'interval of its model, '
               f'{phrases.ms(each.before.expected.low_us)} to '
               f'{phrases.ms(each.before.expected.high_us)} ms now: it may '
               f'be too small to measure.{more}')
    slower = seen.slower
    if slower:
        worst = slower[0]
        yield (f'{phrases.count(len(slower), "pool")} '
               f'{"gets" if len(slower) == 1 else "get"} slower'
               + (', by most ' if len(slower) > 1 else ': ')
               + f'{short[worst.pool.name]} '
               f'{phrases.change(*worst.latencies_us)} ms.')


def warnings(seen: Outlook, short: Mapping[str, str],
             age_s: float | None, stale_s: float) -> Iterator[str]:
    """The sentences.

    :param age_s: of the observation; None where it does not say
    :param stale_s: from which on it is old
    """
    if age_s is None:
        yield 'The time of the observation is not known.'
    elif age_s > stale_s:
        yield (f'The observation is {phrases.duration(age_s)} old; '
               'serifos-balancer observe makes a new one.')
    yield from _left_out(seen, short)
    outside = [short[each.pool.name] for each in seen.pools
               if _outside(each)]
    if outside:
        yield (f'{phrases.count(len(outside), "pool")} of '
               f'{len(seen.pools):,} {"is" if len(outside) == 1 else "are"} '
               'loaded beyond what the models were trained on '
               f'({phrases.several(outside)}): those marked * are compared by '
               'the upper ends of their intervals.')
    yield from seen.plan.notes


def _left_out(seen: Outlook, short: Mapping[str, str]) -> Iterator[str]:
    for what, pools in (
            ('without a model', [each for each in seen.pools
                                 if not each.planned]),
            ('not up', [each for each in seen.pools
                        if each.planned and each.pool.state != 'up'])):
        if not pools:
            continue
        names = [short[each.pool.name] + (
            '' if each.pool.state == 'up' else f' ({each.pool.state})')
            for each in pools]
        yield (f'{phrases.count(len(pools), "pool")} {what}, with '
               + phrases.count(sum(each.volumes for each in pools), 'volume')
               + f', {"is" if len(pools) == 1 else "are"} neither source nor '
               f'target: {phrases.several(names)}.')


def _outside(each: PoolOutlook) -> bool:
    return any(side.expected is not None and side.expected.outside
               for side in (each.before, each.after))


def unexplained(pools: Iterable[Pool]) -> str | None:
    """That pools do not fit their models, and what to do; None if all do.

    :param pools: all pools of the cluster
    """
    known = [pool for pool in pools if pool.model is not None]
    odd = [pool for pool in known if pool.unexplained is not None]
    if not odd:
        return None
    short = names.short(pool.name for pool in known)
    more = len(odd) - _NAMED
    return (f'{len(odd)} of {len(known)} pools '
            f'{"does not fit its" if len(odd) == 1 else "do not fit their"} '
            'model: '
            'rebuild or refine before you move anything ('
            + '; '.join(f'{short[pool.name]}: {pool.unexplained}'
                        for pool in odd[:_NAMED])
            + (f'; and {more} more' if more > 0 else '') + ').')


def in_short(pools: Sequence[PoolOutlook], window_s: float) -> str:
    """How many pools are hot and how many SLOs violated, for one line.

    :param window_s: of the past by which pools are judged; 0 for the present
    """
    hot = sum(each.before.hot for each in pools)
    late = sum(each.before.violated for each in pools)
    by = f' by {phrases.window(window_s)}' if window_s else ''
    return (f'{phrases.count(hot, "hot pool")}{by}, '
            f'{phrases.count(late, "violated SLO")}')


def made(plan: Plan) -> str:
    """The result of a planner, a sentence for a log."""
    return ('The worst predicted latency is '
            f'{phrases.ms(plan.max_us.before)} ms; {plan.planner} moves '
            f'{phrases.count(len(plan.moves), "volume")}, then it is '
            f'{phrases.ms(plan.max_us.after)} ms.')


def predicted(plan: Plan) -> str:
    """The latencies that a plan predicted, a sentence for when it is over."""
    misses = plan.slo_misses
    return (
        'The slowest pool then had '
        f'{phrases.change(plan.max_us.before, plan.max_us.after)} ms, '
        'the mean over all was '
        f'{phrases.change(plan.mean_us.before, plan.mean_us.after)} '
        f'ms, {misses.before:.0f} → {misses.after:.0f} SLOs were violated or '
        f'forecast to be, {plan.slo_violated.before:.0f} of them measured.')
