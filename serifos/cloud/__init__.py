# SPDX-License-Identifier: Apache-2.0
"""Cinder's API: volumes, pools and migrations."""
