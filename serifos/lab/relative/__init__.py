# SPDX-License-Identifier: Apache-2.0
"""Relative fitness: one device predicted from another."""
