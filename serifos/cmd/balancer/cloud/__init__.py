# SPDX-License-Identifier: Apache-2.0
"""The cloud, its plan and its balancer, on one page and in the same words."""
