# SPDX-License-Identifier: Apache-2.0
"""What balancing would have done over days of an operator's own history."""
