# SPDX-License-Identifier: Apache-2.0
"""The journal of migrations, plans and the history of volumes."""
