# SPDX-License-Identifier: Apache-2.0
"""Files: schemas, atomic replacement, JSON lines, owners."""
