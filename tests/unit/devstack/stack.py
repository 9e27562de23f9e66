# SPDX-License-Identifier: Apache-2.0
"""devstack/plugin.sh as a stacker runs it.

A fixture that stacks in a directory of its own. The phases run in bash as
stack.sh runs them, over DevStack's own functions or over functions.sh; the
programs that would change the machine only say that they were called.
"""

import os
import pathlib
import shlex
import subprocess

import fixtures

from tests.unit import case

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[2]
PROGRAMS = ('apt-get', 'groupadd', 'groupdel', 'openstack', 'pip', 'service',
            'systemctl', 'usermod')

SHIM = '''#!/bin/bash
echo "${0##*/} $*" >> "$CALLS"
'''

# It is asked to run /bin/systemctl too, and environment variables before.
SUDO = '''#!/bin/bash
case $1 in
    /bin/systemctl) shift; exec systemctl "$@" ;;
    *) exec env "$@" ;;
esac
'''

CINDER_CONF = '''[DEFAULT]
enabled_backends = lvmdriver-1,lvmdriver-2,nfs-1
scheduler_default_weighers = CapacityWeigher,AllocatedCapacityWeigher

[lvmdriver-1]
volume_driver = cinder.volume.drivers.lvm.LVMVolumeDriver
extra_capabilities = {"rack": "r1"}

[lvmdriver-2]
volume_driver = cinder.volume.drivers.lvm.LVMVolumeDriver
'''

# Once the functions are there: what stack.sh, stackrc and lib/cinder set.
STACK = '''
echo_summary() { echo "$*"; }
DEST=$HOME/dest DATA_DIR=$HOME/data SYSTEMD_DIR=$HOME/systemd
SYSTEMCTL=systemctl GLOBAL_VENV=True DEVSTACK_VENV=$HOME REQUIREMENTS_DIR=
CINDER_CONF=$HOME/cinder.conf CINDER_BIN_DIR=/venv/bin
CINDER_ENABLED_BACKENDS=lvm:lvmdriver-1,lvm:lvmdriver-2,nfs:nfs-1
STACK_USER=$(id -un) SERIFOS_GROUP=$(id -gn)
SERIFOS_CONF_DIR=$HOME/etc/serifos
REGION_NAME=RegionOne KEYSTONE_SERVICE_URI=http://10.0.0.1/identity
SERVICE_PASSWORD=secret SERVICE_PROJECT_NAME=service
SERVICE_DOMAIN_NAME=Default SSL_BUNDLE_FILE=$HOME/ca-bundle.pem
source "$SERIFOS/devstack/settings"
trap 'echo "failed at $BASH_COMMAND"' ERR
set -o errexit
'''

REAL = '''
source "$TOP_DIR/functions"
export HOST_IP=10.0.0.1 SERVICE_HOST=10.0.0.1 DEST=$HOME/dest
declare -A PROJECT_VENV
source "$TOP_DIR/lib/apache"
source "$TOP_DIR/lib/tls"
source "$TOP_DIR/lib/keystone"
source "$TOP_DIR/lib/cinder"
'''


class Stack(fixtures.Fixture):
    """A machine to stack on.

    :param devstack: DevStack's directory; None for functions.sh
    """

    def __init__(self, devstack=None):
        self.devstack = devstack

    def _setUp(self):
        self.home = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        (self.home / 'bin').mkdir()
        for name, text in (('sudo', SUDO), *((p, SHIM) for p in PROGRAMS)):
            program = self.home / 'bin' / name
            program.write_text(text)
            program.chmod(0o755)
        (self.home / 'systemd').mkdir()
        (self.home / 'dest').mkdir()
        (self.home / 'dest' / 'serifos').symlink_to(ROOT)
        self.cinder_conf = self.home / 'cinder.conf'
        self.cinder_conf.write_text(CINDER_CONF)
        self.serifos_conf = self.home / 'etc' / 'serifos' / 'serifos.conf'
        self.state_dir = self.home / 'data' / 'serifos'
        self.unit = (self.home / 'systemd'
                     / 'devstack@serifos-balancer.service')

    def run(self, *phases, services='key,c-api,c-sch,c-vol', **variables):
        """(exit code, output, calls) of these phases, in one shell.

        :param variables: what local.conf sets
        """
        calls = self.home / 'calls'
        calls.write_text('')
        functions = REAL if self.devstack else 'source "$STUBS"\n'
        script = ''.join((
            f'ENABLED_SERVICES={shlex.quote(services)}\n', functions,
            *(f'{name}={shlex.quote(value)}\n'
              for name, value in variables.items()), STACK,
            *(f'source "$SERIFOS/devstack/plugin.sh" {phase}\n'
              for phase in phases)))
        done = subprocess.run(
            ['bash', '-c', script], text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=self.home,
            timeout=case.PATIENCE_S, env={
                **os.environ, 'HOME': str(self.home), 'CALLS': str(calls),
                'PATH': f'{self.home}/bin:{os.environ["PATH"]}',
                'TOP_DIR': str(self.devstack), 'SERIFOS': str(ROOT),
                'STUBS': str(HERE / 'functions.sh')})
        return done.returncode, done.stdout, calls.read_text().splitlines()

    def left(self):
        """Files that were not there before stacking."""
        known = {self.cinder_conf, self.home / 'calls'}
        return {path for path in self.home.rglob('*')
                if path.is_file() and path not in known
                and self.home / 'bin' not in path.parents}
