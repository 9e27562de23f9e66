# SPDX-License-Identifier: Apache-2.0
"""Experimental designs: the runs to make on a device, and their order."""
