# SPDX-License-Identifier: Apache-2.0
"""Moves that make room: off pools that will soon be full."""
