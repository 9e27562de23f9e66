# SPDX-License-Identifier: Apache-2.0
"""SLOs, and the moves that restore them."""
