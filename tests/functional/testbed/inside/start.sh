#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a storage host has: a network, device-mapper, udev, an LVM volume group
# on the SSD, an iSCSI target and initiator, an exporter of disk statistics.
# Then the agent, which answers as soon as all of that is there.
name=node$TESTBED_NODE
here=$TESTBED_STATE/inside
export PATH=$here/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
cd /

hostname "$name"
ip link set lo up
ip link set vec0 mtu 9000 up
ip addr add "$TESTBED_ADDRESS/24" dev vec0
cp "$TESTBED_STATE/hosts" /etc/hosts
: > /etc/resolv.conf

mkdir -p /lib/modules
rm -f "/lib/modules/$(uname -r)"
ln -s "/usr/lib/uml/modules/$(uname -r)" /lib/modules/
modprobe -a dm-mod dm-snapshot dm-thin-pool sd_mod sg iscsi_tcp \
    target_core_mod target_core_iblock target_core_file iscsi_target_mod
mount -t configfs configfs /sys/kernel/config

/lib/systemd/systemd-udevd --daemon
udevadm trigger --action=add --subsystem-match=block
udevadm settle
cp "$here/lvm.conf" /etc/lvm/lvm.conf
: > /etc/lvm/lvmlocal.conf
vgs ssd >/dev/null 2>&1 || vgcreate -y ssd /dev/ubda
vgchange -ay ssd

mkdir -p /etc/target /var/target /var/lib/cinder/{volumes,lock,coordination}
echo "InitiatorName=$TESTBED_IQN" > /etc/iscsi/initiatorname.iscsi
rm -rf /etc/iscsi/nodes /etc/iscsi/send_targets /var/lib/iscsi
# A copy from a host that died hangs for this long; 120 s is the default.
sed -i 's/^\(node.session.timeo.replacement_timeout\) = .*/\1 = 15/' \
    /etc/iscsi/iscsid.conf
iscsid

"$TESTBED_STATE/cinder/bin/python" -I "$here/rtstool_server.py" \
    >/run/rtstool.log 2>&1 </dev/null &
prometheus-node-exporter --web.listen-address=":9100" \
    --collector.disable-defaults --collector.diskstats --collector.stat \
    --collector.time --collector.loadavg --collector.meminfo \
    >/run/node-exporter.log 2>&1 </dev/null &

echo "$name is up after $(cut -d' ' -f1 /proc/uptime) s"
# Bash stays the first process: it collects the children that others leave.
while :; do
    "$TESTBED_STATE/cinder/bin/python" -I "$here/agent.py"
    sleep 1
done
