# SPDX-License-Identifier: Apache-2.0
"""The journal of migrations and the history of volumes, in a database."""
