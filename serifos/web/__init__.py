# SPDX-License-Identifier: Apache-2.0
"""HTTP exchanges that end: in time, in bytes, and when we are stopped."""
