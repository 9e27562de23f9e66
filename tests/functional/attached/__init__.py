# SPDX-License-Identifier: Apache-2.0
"""Tests of volumes in use, on a testbed with a Nova."""
