# SPDX-License-Identifier: Apache-2.0
"""The Loads that volumes are planned as: present, of days, slot by slot."""
