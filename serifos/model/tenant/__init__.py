# SPDX-License-Identifier: Apache-2.0
"""Kind ``tenant``: the latency that each workload of a pool sees."""
