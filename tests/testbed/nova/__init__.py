# SPDX-License-Identifier: Apache-2.0
"""Nova, Keystone and Placement in the testbed, and servers as tenants.

One more guest is the compute host: libvirtd, nova-compute and QEMU, which
emulates the processor. All services are real ones but Neutron's: a server
without a network asks it for lists alone, and they are empty.
"""
