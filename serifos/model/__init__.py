# SPDX-License-Identifier: Apache-2.0
"""Latency models: kinds, their fitting and their held-out error."""
