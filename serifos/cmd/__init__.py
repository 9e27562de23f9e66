# SPDX-License-Identifier: Apache-2.0
"""The programs: arguments, wiring and exit codes."""
