# SPDX-License-Identifier: Apache-2.0
"""What volumes did, for weeks, in SQLite, MariaDB, MySQL or PostgreSQL.

It is the port :class:`.facts.history.History`. Slots of a minute are kept for
hours, those of five minutes for days, those of an hour for weeks; each length
is complete by itself, so that whatever is read, one query reads it.
"""
