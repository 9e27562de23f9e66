# SPDX-License-Identifier: Apache-2.0
"""What the figures of a plan are to be distrusted for, a sentence each."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping

from serifos.plan import copying
from serifos.plan.outlook.outlook import Outlook
from serifos.plan.outlook.outlook import PoolOutlook
from serifos.report.plan import wording


def warnings(seen: Outlook, short: Mapping[str, str],
             age_s: float | None, stale_s: float) -> Iterator[str]:
    """The sentences.

    :param age_s: of the observation; None where it does not say
    :param stale_s: from which on that is told
    """
    if age_s is None:
        yield 'The observation does not say when it was made.'
    elif age_s > stale_s:
        yield (f'The observation is {copying.duration(age_s)} old; '
               'serifos-balancer observe makes a new one.')
    yield from _left_out(seen, short)
    outside = [short[each.pool.name] for each in seen.pools
               if _outside(each)]
    if outside:
        yield (f'{wording.count(len(outside), "pool")} of '
               f'{len(seen.pools):,} {"is" if len(outside) == 1 else "are"} '
               'loaded beyond what the models were trained on '
               f'({wording.several(outside)}): those marked * are compared by '
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
        yield (f'{wording.count(len(pools), "pool")} {what}, with '
               + wording.count(sum(each.volumes for each in pools), 'volume')
               + f', {"is" if len(pools) == 1 else "are"} neither source nor '
               f'target: {wording.several(names)}.')


def _outside(each: PoolOutlook) -> bool:
    return any(side.expected is not None and side.expected.outside
               for side in (each.before, each.after))
