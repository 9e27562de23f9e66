# SPDX-License-Identifier: Apache-2.0
"""Replays of an operator's own history under several policies."""
