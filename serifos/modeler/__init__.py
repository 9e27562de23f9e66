# SPDX-License-Identifier: Apache-2.0
"""Building a model of a device: campaigns of runs, resumed and adapted."""
