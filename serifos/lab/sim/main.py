# SPDX-License-Identifier: Apache-2.0
"""The command serifos-sim."""

from __future__ import annotations

from collections.abc import Sequence
import sys

from serifos.cmd import app


def main(argv: Sequence[str] | None = None) -> int:
    return app.main(
        'serifos-sim',
        'Try placement and balancing on simulated devices.',
        argv)


if __name__ == '__main__':
    sys.exit(main())
