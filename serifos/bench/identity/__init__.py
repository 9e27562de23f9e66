# SPDX-License-Identifier: Apache-2.0
"""The storage behind a block device, and its other names."""
