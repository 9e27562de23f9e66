# SPDX-License-Identifier: Apache-2.0
"""Several backtests in one table: python -m tools.bench.backtests FILE...

Each FILE is what ``serifos-sim backtest -f json`` printed, of the same
policies on another history. Figures are means over them, beside the worst.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import statistics
from typing import Any

from serifos.report import table

HEADER = ('policy', 'worst pool, ms', 'SLO violated, volume minutes',
          'fewer than the first', 'moves', 'moves per 10 volumes, week',
          'at most')


def rows(documents: list[dict[str, Any]]) -> list[tuple[object, ...]]:
    """A row for each policy, in the order of the first document."""
    found = []
    for i, first in enumerate(documents[0]['policies']):
        its = [document['policies'][i] for document in documents]
        others = [document['policies'][0] for document in documents]
        fewer = sum(one['slo_minutes'] < other['slo_minutes']
                    for one, other in zip(its, others))
        moves = [one['moves_per_ten_a_week'] for one in its]
        found.append((
            first['policy'],
            statistics.mean(one['worst_us'] for one in its) / 1e3,
            round(statistics.mean(one['slo_minutes'] for one in its)),
            f'{fewer} of {len(its)}',
            statistics.mean(one['moves'] for one in its),
            statistics.mean(moves), max(moves)))
    return found


def _document(name: str) -> dict[str, Any]:
    try:
        found = json.loads(pathlib.Path(name).read_text())
        rows([found])
    except (OSError, ValueError, LookupError, TypeError) as exc:
        raise argparse.ArgumentTypeError(
            f'{name} is not what serifos-sim backtest -f json printed: '
            f'{exc!r}') from None
    return found


if __name__ == '__main__':
    parser = argparse.ArgumentParser(
        prog='python -m tools.bench.backtests',
        description='Several backtests in one table, means over them.')
    parser.add_argument(
        'documents', metavar='FILE', nargs='+', type=_document,
        help='what serifos-sim backtest -f json printed')
    read = parser.parse_args().documents
    print(table.as_text(table.Table(
        HEADER, rows(read), f'{len(read)} histories')))
