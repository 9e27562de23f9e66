# SPDX-License-Identifier: Apache-2.0
"""HTTP requests bounded in time and bytes."""
