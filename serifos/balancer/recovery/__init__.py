# SPDX-License-Identifier: Apache-2.0
"""Migrations that nothing goes on with: found, explained and recovered."""
