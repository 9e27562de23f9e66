# SPDX-License-Identifier: Apache-2.0
"""Kinds of models compared on one device."""
