# SPDX-License-Identifier: Apache-2.0
"""The journal of migrations in SQLite, MariaDB, MySQL or PostgreSQL."""
