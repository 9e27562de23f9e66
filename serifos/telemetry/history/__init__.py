# SPDX-License-Identifier: Apache-2.0
"""What volumes did over hours and days, by each source of telemetry.

Each is the port :class:`.facts.history.History`: the ring of what was
scraped (minutes), a Prometheus or a Gnocchi (as long as they keep it).
"""
