# SPDX-License-Identifier: Apache-2.0
# What a compute host has: libvirtd, and QEMU, which emulates the processor.
modprobe tun
mkdir -p /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
echo 5e71f05000000000000000000000c0de > /etc/machine-id
mkdir -p /run/libvirt /run/lock/nova /var/lib/nova /var/lib/libvirt/qemu \
    /etc/libvirt
# Servers' definitions outlast the guest.
mkdir -p "$TESTBED_STATE/$TESTBED_NAME/domains" /etc/libvirt/qemu
mount -t hostfs -o "$TESTBED_STATE/$TESTBED_NAME/domains" none \
    /etc/libvirt/qemu
# What QEMU can do is found out once, not at each start.
mkdir -p "$TESTBED_STATE/libvirt-cache" /var/cache/libvirt
mount -t hostfs -o "$TESTBED_STATE/libvirt-cache" none /var/cache/libvirt
# Debian's libvirt-daemon-system, which would start it, makes this user.
grep -q libvirt-qemu /etc/passwd || {
    echo 'libvirt-qemu:x:64055:64055::/var/lib/libvirt:/usr/sbin/nologin' \
        >> /etc/passwd
    echo 'libvirt-qemu:x:64055:' >> /etc/group
}
cat > /etc/libvirt/qemu.conf <<END
security_driver = "none"
user = "root"
group = "root"
dynamic_ownership = 0
remember_owner = 0
namespaces = []
cgroup_controllers = []
seccomp_sandbox = 0
stdio_handler = "file"
END
cat > /etc/libvirt/libvirtd.conf <<END
auth_unix_rw = "none"
auth_unix_ro = "none"
host_uuid = "5e71f050-0000-4000-8000-00000000c0de"
log_outputs = "2:stderr"
END
setsid libvirtd --config /etc/libvirt/libvirtd.conf \
    >>"$TESTBED_STATE/$TESTBED_NAME/libvirtd.log" 2>&1 </dev/null &
