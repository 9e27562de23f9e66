# SPDX-License-Identifier: Apache-2.0
"""Figures by which pools are compared: ``[balancer] hot_by``."""

BUSY, LATENCY, READ_P99, WRITE_P99 = 'busy', 'latency', 'read_p99', 'write_p99'

TAILS = {READ_P99: 'read_p99_us', WRITE_P99: 'write_p99_us'}
"""Those by a 99th percentile → the figure of a run."""

UNITS = {BUSY: '% busy', LATENCY: 'ms', READ_P99: 'ms (read p99)',
         WRITE_P99: 'ms (write p99)'}

NAMES = {BUSY: 'how busy their devices are',
         READ_P99: 'the 99th percentile of reads',
         WRITE_P99: 'the 99th percentile of writes'}
"""As in: pools are hot by ..., where that is not latency."""
