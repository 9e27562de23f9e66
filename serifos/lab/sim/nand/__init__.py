# SPDX-License-Identifier: Apache-2.0
"""Simulated flash devices: dies, buffers, collections, links."""
