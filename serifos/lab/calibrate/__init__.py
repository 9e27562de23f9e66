# SPDX-License-Identifier: Apache-2.0
"""Queueing networks calibrated from end-to-end times."""
