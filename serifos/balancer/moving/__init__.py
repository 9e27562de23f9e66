# SPDX-License-Identifier: Apache-2.0
"""Moves carried out: requested, followed, and what is written of them."""
