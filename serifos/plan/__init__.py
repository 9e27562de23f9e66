# SPDX-License-Identifier: Apache-2.0
"""Planners: where volumes should live, decided over frozen facts."""
