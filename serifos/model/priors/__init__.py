# SPDX-License-Identifier: Apache-2.0
"""Models of devices measured before, one file each (tools/bench/priors.py)."""
