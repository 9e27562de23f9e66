# SPDX-License-Identifier: Apache-2.0
"""Which runs are worth making on a device, and in which order."""
