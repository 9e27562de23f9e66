# SPDX-License-Identifier: Apache-2.0
"""Tests print nothing: a log is seen by whoever captures it."""

import logging
import os
import warnings

# The matrices are small, and several processes share the processors: threads
# of BLAS that wait for one another by spinning would take most of these.
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')

logging.getLogger().addHandler(logging.NullHandler())
# As serifos.cmd.app does, which not every test imports.
warnings.filterwarnings('ignore', message='\nEventlet is deprecated')
