# SPDX-License-Identifier: Apache-2.0
"""What goes wrong where two threads do the same at once."""

from collections.abc import Callable
import threading


def failures(work: Callable[[], None]) -> list[Exception]:
    wrong = []

    def one():
        try:
            work()
        except Exception as exc:  # noqa: BLE001
            wrong.append(exc)
    threads = [threading.Thread(target=one) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return wrong
