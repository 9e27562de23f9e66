# SPDX-License-Identifier: Apache-2.0
"""Search for moves: off hot pools, for SLOs, off pools that fill up."""
