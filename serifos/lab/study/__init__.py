# SPDX-License-Identifier: Apache-2.0
"""The studies of the Serifos paper: one workload, and several together."""
