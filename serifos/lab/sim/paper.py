# SPDX-License-Identifier: Apache-2.0
"""The figures of the Serifos paper [1]_.

.. [1] Yao, Papapanagiotou, Griffith: Serifos: Workload Consolidation and
   Load Balancing for SSD Based Cloud Storage Systems.
"""

from __future__ import annotations

CONSOLIDATION = {
    'SSD1': {'1': (113.44, 0, 22.135), '2': (0, 0, 24.497),
             '3': (0, 0, 24.714), '4': (81.969, 0, 23.587),
             '5': (0, 0.578, 23.919), '5+': (0, 0.646, 23.913)},
    'SSD2': {'1': (216.51, -1.19, 19.628), '2': (42.669, 0, 20.691),
             '3': (-86.634, 0.533, 21.339), '4': (-188.26, 0.907, 21.729),
             '5': (-133.83, 0.519, 21.906), '5+': (-137.81, 0.597, 21.821)},
}
"""Table 6: µs, µs per summed write percent, µs per summed KiB."""

MRE = {
    'SSD1': {'1': 0.07, '2': 0.12, '3': 0.12, '4': 0.10, '5': 0.09,
             '5+': 0.16},
    'SSD2': {'1': 0.05, '2': 0.07, '3': 0.07, '4': 0.05, '5': 0.10,
             '5+': 0.08},
}
"""Table 7, as fractions: 100 tests of each count, 200 of 6 to 10."""

RESIDUALS_US = {'SSD1': (-50.0, 200.0), 'SSD2': (-50.0, 100.0)}
"""Section 6.1: where the middle half of Figure 2's residuals lies, about."""

REDUCTION = {
    'variance_us2': 0.82, 'max_us': 0.52, 'p99_read_variance_us2': 0.71,
    'p99_write_variance_us2': 0.84, 'slo_us': 0.43, 'slo_read_us': 0.32,
    'slo_write_us': 0.63,
}
"""Section 6.2: the fraction by which balancing lowered each figure."""

SIZES_GIB = (30, 60, 90, 120)             # Eq. 19
WORKLOADS = (10, 16)                      # section 6.2, a case's count


def latency_us(device: str, count: int, sum_write_pct: float,
               sum_block_kib: float) -> float:
    """The prediction of Table 6, µs (Eq. 14 of [1]_)."""
    table = CONSOLIDATION[device]
    intercept, write, block = table.get(str(count), table['5+'])
    return intercept + write * sum_write_pct + block * sum_block_kib
