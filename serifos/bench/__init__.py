# SPDX-License-Identifier: Apache-2.0
"""Devices, fio and logical volumes: all that touches a disk."""
