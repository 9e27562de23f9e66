# SPDX-License-Identifier: Apache-2.0
"""The page of a cloud: its pools, a plan, what stays, what was achieved."""
