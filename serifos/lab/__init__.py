# SPDX-License-Identifier: Apache-2.0
"""The papers' studies, each with its own command; nothing imports them."""
