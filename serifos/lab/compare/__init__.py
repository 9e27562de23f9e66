# SPDX-License-Identifier: Apache-2.0
"""Comparison of the kinds of model on datasets."""
