# SPDX-License-Identifier: Apache-2.0
"""``python -m serifos.cmd.balancer``."""

import sys

from serifos.cmd import balancer

sys.exit(balancer.main())
