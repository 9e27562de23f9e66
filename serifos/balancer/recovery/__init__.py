# SPDX-License-Identifier: Apache-2.0
"""Recovery of migrations that Cinder has forgotten or that are stuck."""
