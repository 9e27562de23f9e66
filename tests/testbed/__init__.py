# SPDX-License-Identifier: Apache-2.0
"""A real Cinder on several storage hosts, all of it on one machine.

Each storage host is a User-Mode Linux guest: its own kernel, device-mapper,
LVM volume group on an emulated SSD, iSCSI target and cinder-volume. They,
the database, the message queue, cinder-api and cinder-scheduler have one
network namespace to themselves. ``tools/testbed`` is the command line.
"""
