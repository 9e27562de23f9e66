# SPDX-License-Identifier: Apache-2.0
"""Activity of volumes: the telemetry sources and their arithmetic.

Each source yields, for every storage host, readings of the counters of its
logical volumes; what became of the counters between two readings is the
same arithmetic for all of them (``counters``, ``window``).
"""
