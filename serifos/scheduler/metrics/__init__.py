# SPDX-License-Identifier: Apache-2.0
"""Metrics of what the plugin does, for node_exporter's textfile collector."""
