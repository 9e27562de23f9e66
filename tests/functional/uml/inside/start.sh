#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a guest of tests.functional.uml does once its files are there: it runs
# the module of its command line, whose result is the file "said", and ends.
here=$TESTBED_STATE/inside
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root OPENBLAS_NUM_THREADS=1
ip link set lo up
mkdir -p /lib/modules
rm -f "/lib/modules/$(uname -r)"
ln -s "/usr/lib/uml/modules/$(uname -r)" /lib/modules/
modprobe dm-mod
/lib/systemd/systemd-udevd --daemon
udevadm trigger --action=add --subsystem-match=block
udevadm settle
cp "$here/lvm.conf" /etc/lvm/lvm.conf
: > /etc/lvm/lvmlocal.conf
export PYTHONPATH=$GUEST_ROOT
mkdir -p /run/guest && cd /run/guest || exit
timeout -s KILL "$GUEST_SECONDS" "$GUEST_PYTHON" -m "$GUEST_MODULE" \
    > "$TESTBED_STATE/said" < /dev/null
echo "the program of the guest ended with $?"
busybox poweroff -f
