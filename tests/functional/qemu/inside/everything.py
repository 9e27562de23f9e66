# SPDX-License-Identifier: Apache-2.0
"""All the checks, in one boot: booting is what takes long."""

import os

from tests.functional.qemu.inside import disks
from tests.functional.qemu.inside import group
from tests.functional.qemu.inside import report

if __name__ == '__main__':
    os.mkdir('/run/guest')
    os.chdir('/run/guest')
    report.main(*disks.CHECKS, *group.CHECKS)
