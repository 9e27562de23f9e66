# SPDX-License-Identifier: Apache-2.0
"""A story printed on a terminal, with times and tables."""

from __future__ import annotations

from collections.abc import Callable
import time

from serifos.facts import phrases
from tests.testbed import layout
from tests.testbed import story
from tests.testbed import testbed


def tell(make: Callable[[testbed.Say], story.Story],
         say: testbed.Say) -> None:
    """Tells a story to its end.

    :raises TestbedError: unless the slowest host became faster and every
        byte is there
    """
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
    lost = [tenant for tenant, same in intact.items() if not same]
    if lost:
        raise layout.TestbedError(
            f'the data of {", ".join(lost)} is not what was written; see '
            'above.')
    if after.worst >= before.worst:
        raise layout.TestbedError(
            'the slowest host did not become faster by '
            f'{phrases.count(len(moves), "volume")} moved: '
            f'{before.worst / 1e3:.1f} ms before, '
            f'{after.worst / 1e3:.1f} ms after; end what else '
            'uses this machine, and tell it again.')
    say('\nThe slowest host became faster, and every byte is there.')
