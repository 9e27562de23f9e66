# SPDX-License-Identifier: Apache-2.0
"""What lies behind the name of a block device, and its other names."""
