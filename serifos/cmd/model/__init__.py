# SPDX-License-Identifier: Apache-2.0
"""serifos-model."""

from __future__ import annotations

from collections.abc import Sequence

from serifos.cmd import app


def main(argv: Sequence[str] | None = None) -> int:
    return app.main(
        'serifos-model',
        'Measure a device with fio and model the latency it gives.',
        argv)
