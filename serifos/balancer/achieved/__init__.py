# SPDX-License-Identifier: Apache-2.0
"""What was achieved, held against what was predicted."""
