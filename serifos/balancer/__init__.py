# SPDX-License-Identifier: Apache-2.0
"""The balancer: rounds of observing, planning and migrating."""
