# SPDX-License-Identifier: Apache-2.0
"""Volumes that are to share a pool, and those that are to be kept apart."""
