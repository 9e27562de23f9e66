# SPDX-License-Identifier: Apache-2.0
"""HTML pages, charts and tables."""
