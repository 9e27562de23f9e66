#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What every guest has: a network, modules, udev, an iSCSI initiator; then what
# its role needs. The agent answers as soon as all of that is there.
here=$TESTBED_STATE/inside
export PATH=$here/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
cd /

hostname "$TESTBED_NAME"
ip link set lo up
ip link set vec0 mtu 9000 up
ip addr add "$TESTBED_ADDRESS/24" dev vec0
cp "$TESTBED_STATE/hosts" /etc/hosts
: > /etc/resolv.conf

mkdir -p /lib/modules
rm -f "/lib/modules/$(uname -r)"
ln -s "/usr/lib/uml/modules/$(uname -r)" /lib/modules/
modprobe -a dm-mod sd_mod sg iscsi_tcp
/lib/systemd/systemd-udevd --daemon
udevadm trigger --action=add --subsystem-match=block
udevadm settle

echo "InitiatorName=$TESTBED_IQN" > /etc/iscsi/initiatorname.iscsi
rm -rf /etc/iscsi/nodes /etc/iscsi/send_targets /var/lib/iscsi

# shellcheck source=/dev/null
. "$here/$TESTBED_ROLE.sh"
iscsid

echo "$TESTBED_NAME is up after $(cut -d' ' -f1 /proc/uptime) s"
# Bash stays the first process: it collects the children that others leave.
while :; do
    "$TESTBED_STATE/cinder/bin/python" -I "$here/agent.py"
    sleep 1
done
