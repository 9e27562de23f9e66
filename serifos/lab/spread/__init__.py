# SPDX-License-Identifier: Apache-2.0
"""How far repeated runs are apart."""
