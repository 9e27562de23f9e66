# SPDX-License-Identifier: Apache-2.0
"""Plans that a person asks for, whatever they gain."""
