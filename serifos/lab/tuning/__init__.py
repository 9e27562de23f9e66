# SPDX-License-Identifier: Apache-2.0
"""The search for a kind's settings."""
