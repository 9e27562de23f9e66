# SPDX-License-Identifier: Apache-2.0
"""What a plan comes to, for the person who decides on it."""
