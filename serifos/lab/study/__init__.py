# SPDX-License-Identifier: Apache-2.0
"""The single-workload study of the Serifos paper."""
