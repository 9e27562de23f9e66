# SPDX-License-Identifier: Apache-2.0
"""``python -m serifos.cmd.model``."""

import sys

from serifos.cmd import model

sys.exit(model.main())
