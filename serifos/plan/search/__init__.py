# SPDX-License-Identifier: Apache-2.0
"""Moves off hot pools: for small clouds, for large ones."""
