# SPDX-License-Identifier: Apache-2.0
"""What runs change on this host beside the target, and how it is put back."""
