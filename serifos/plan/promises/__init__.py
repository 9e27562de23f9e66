# SPDX-License-Identifier: Apache-2.0
"""Latency promises, and the moves that keep them again."""
