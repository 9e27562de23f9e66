#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The first program of a guest. Its root is the host's file system, read only:
# lay a layer of memory over it, so that the guest has an /etc, /var and /run
# of its own and can never write to the host's, and go on in there.
#
# The kernel's command line gives us the environment: TESTBED_STATE (the
# testbed's directory), TESTBED_NAME (node1 ...), TESTBED_ROLE (storage or
# compute), TESTBED_ADDRESS, TESTBED_IQN.
set -e
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs -o size=512M memory /mnt
mkdir /mnt/upper /mnt/work /mnt/root
insmod "/usr/lib/uml/modules/$(uname -r)/kernel/fs/overlayfs/overlay.ko"
mount -t overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work \
    overlay /mnt/root
cd /mnt/root
mkdir -p oldroot
mount -n --move /proc proc
mount -n --move /sys sys
mount -t devtmpfs dev dev
ln -s /proc/self/fd/0 dev/stdin
mkdir -p dev/pts dev/shm
mount -t devpts devpts dev/pts
mount -t tmpfs memory dev/shm
mount -t tmpfs memory run
mount -t tmpfs memory tmp
mkdir -p run/lock/iscsi run/lvm run/udev
pivot_root . oldroot
# Memory hides a checkout that lives in /tmp.
checkout=$(dirname "$TESTBED_STATE")
if [[ ! -e $checkout/setup.cfg ]]; then
    mkdir -p "$checkout"
    mount -r -t hostfs -o "$checkout" none "$checkout"
fi
# A file that the host makes later would stay unseen through the overlay, so
# the testbed's own directory is mounted again, without it.
mkdir -p "$TESTBED_STATE"
mount -t hostfs -o "$TESTBED_STATE" none "$TESTBED_STATE"
exec chroot . "$TESTBED_STATE/inside/start.sh" \
    </dev/console >/dev/console 2>&1
