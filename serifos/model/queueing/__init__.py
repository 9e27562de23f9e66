# SPDX-License-Identifier: Apache-2.0
"""Closed queueing networks of two stations."""
