# SPDX-License-Identifier: Apache-2.0
"""Tails of a measured device."""
