# SPDX-License-Identifier: Apache-2.0
"""What a benchmark leaves uncovered."""
