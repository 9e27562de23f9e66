# SPDX-License-Identifier: Apache-2.0
"""``python -m serifos.cmd.status``."""

import sys

from serifos.cmd import status

sys.exit(status.main())
