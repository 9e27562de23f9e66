# SPDX-License-Identifier: Apache-2.0
"""The planner as a strategy of OpenStack Watcher, and its action."""
