# SPDX-License-Identifier: Apache-2.0
"""Coverage of workloads by a benchmark."""
