# SPDX-License-Identifier: Apache-2.0
"""The story printed on a terminal, with times and tables."""

from __future__ import annotations

import time

from tests.functional.testbed import story
from tests.functional.testbed import testbed


def tell(on: testbed.Testbed, say: testbed.Say) -> int:
    """0 where the slowest host became faster and every byte is there."""
    began = time.monotonic()

    def chapter(text: str) -> None:
        minutes, seconds = divmod(int(time.monotonic() - began), 60)
        say(f'\n[{minutes:2}:{seconds:02}] {text}')

    told = story.Story(on, lambda text: say(f'        {text}'))
    told.balancer.forget()
    try:
        chapter('A model of each host, by serifos-model build and fio.')
        told.models()
        chapter('Four tenants move in, two of them on the slowest host.')
        told.tenants()
        before = told.felt()
        chapter('serifos-balancer observe: the I/O of each of them.')
        told.observe()
        chapter('A new volume, by SerifosScheduler.')
        told.place()
        chapter('serifos-balancer run --once and apply, until nothing moves.')
        told.balance()
        chapter('What the tenants see now, and whether their data is '
                'intact.')
        after = told.felt()
        intact = told.intact()
        chapter('serifos-balancer run --once, again.')
        say('        ' + ('It moves more.' if told.plan()
                          else 'There is nothing to move.'))
    finally:
        told.end()
    chapter('Before and after, measured by fio.')
    for line in table(before, after):
        say(f'        {line}')
    well = all(intact.values()) and after.worst < before.worst
    return 0 if well else 1


def table(before: story.Felt, after: story.Felt) -> list[str]:
    """The figures of both, a line each."""
    rows = [(f'{host}, mean ms', before.hosts[host] / 1e3,
             after.hosts[host] / 1e3) for host in before.hosts]
    rows += [
        ('all hosts, mean ms', before.mean / 1e3, after.mean / 1e3),
        ('slowest host, mean ms', before.worst / 1e3, after.worst / 1e3),
        ('slowest p99, ms', before.worst_p99 / 1e3, after.worst_p99 / 1e3),
        ('variance over hosts, ms²', before.variance / 1e6,
         after.variance / 1e6)]
    return [f'{"":25} {"before":>8} {"after":>8}', *(
        f'{name:25} {was:8.1f} {then:8.1f}'
        + (f'  {100 * (then / was - 1):+5.0f} %' if was else '')
        for name, was, then in rows)]
