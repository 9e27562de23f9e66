# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # here is the caller's
# What a storage host has: device-mapper, an LVM volume group on the SSD, an
# iSCSI target, an exporter of disk statistics.
modprobe -a dm-snapshot dm-thin-pool target_core_mod target_core_iblock \
    target_core_file iscsi_target_mod
mount -t configfs configfs /sys/kernel/config

cp "$here/lvm.conf" /etc/lvm/lvm.conf
: > /etc/lvm/lvmlocal.conf
vgs ssd >/dev/null 2>&1 || vgcreate -y ssd /dev/ubda
vgchange -ay ssd

# A copy from a host that died hangs for this long; 120 s is the default.
sed -i 's/^\(node.session.timeo.replacement_timeout\) = .*/\1 = 15/' \
    /etc/iscsi/iscsid.conf

# The iSCSI targets that Cinder restores after a boot are kept on the disk.
mkdir -p "$TESTBED_STATE/$TESTBED_NAME/target" /etc/target
mount -t hostfs -o "$TESTBED_STATE/$TESTBED_NAME/target" none /etc/target
mkdir -p /var/target /var/lib/cinder/{volumes,lock,coordination}
"$TESTBED_STATE/cinder/bin/python" -I "$here/rtstool_server.py" \
    >/run/rtstool.log 2>&1 </dev/null &
prometheus-node-exporter --web.listen-address=":9100" \
    --collector.disable-defaults --collector.diskstats --collector.stat \
    --collector.time --collector.loadavg --collector.meminfo \
    >/run/node-exporter.log 2>&1 </dev/null &
