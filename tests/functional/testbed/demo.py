# SPDX-License-Identifier: Apache-2.0
"""A story printed on a terminal, with times and tables."""

from __future__ import annotations

from collections.abc import Callable
import time

from tests.functional.testbed import story
from tests.functional.testbed import testbed


def tell(make: Callable[[testbed.Say], story.Story],
         say: testbed.Say) -> int:
    """0 where the slowest host became faster and every byte is there."""
    began = time.monotonic()

    def chapter(text: str) -> None:
        minutes, seconds = divmod(int(time.monotonic() - began), 60)
        say(f'\n[{minutes:2}:{seconds:02}] {text}')

    told = make(lambda text: say(f'        {text}'.rstrip()))
    told.balancer.forget()
    try:
        chapter('A model of each host, by serifos-model build and fio.')
        told.models()
        chapter(told.MOVE_IN)
        told.tenants()
        chapter('serifos-balancer observe, and what the tenants see.')
        told.observe()
        before = told.felt()
        chapter('A new volume, by SerifosScheduler.')
        told.place()
        chapter('serifos-balancer run --once and apply, until nothing moves.')
        moves = told.balance()
        chapter('What the tenants see now, and whether their data is '
                'intact.')
        after = told.felt()
        intact = told.intact()
        chapter('Before and after.')
        for line in told.compared(before, after, moves):
            say(f'        {line}'.rstrip())
    finally:
        told.end()
    well = all(intact.values()) and after.worst < before.worst
    return 0 if well else 1
