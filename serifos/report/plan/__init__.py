# SPDX-License-Identifier: Apache-2.0
"""Plans for people: what they bring, what they cost, what stays and why."""
