# SPDX-License-Identifier: Apache-2.0
"""Tests print nothing: a log is seen by whoever captures it."""

import logging
import warnings

logging.getLogger().addHandler(logging.NullHandler())
# As serifos.cmd.app does, which not every test imports.
warnings.filterwarnings('ignore', message='\nEventlet is deprecated')
