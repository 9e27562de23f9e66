# SPDX-License-Identifier: Apache-2.0
"""Frozen facts that all rooms share: workloads, volumes, pools, samples."""
