# SPDX-License-Identifier: Apache-2.0
"""python -m tests.testbed, which tools/testbed runs."""

import sys

from tests.testbed import commands

sys.exit(commands.main(sys.argv[1:]))
