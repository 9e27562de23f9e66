# SPDX-License-Identifier: Apache-2.0
"""Tests on a real Cinder of several storage hosts (tests/testbed)."""
