# SPDX-License-Identifier: Apache-2.0
"""What a workload of a run saw, beyond single figures."""
