# SPDX-License-Identifier: Apache-2.0
"""serifos-balancer."""

from __future__ import annotations

from collections.abc import Sequence

from serifos.cmd import app


def main(argv: Sequence[str] | None = None) -> int:
    return app.main(
        'serifos-balancer',
        'Plan and carry out the moves that level latency over pools.',
        argv)
