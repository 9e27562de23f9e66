# SPDX-License-Identifier: Apache-2.0
"""The programs: arguments, wiring and exit codes."""

import os

# Read by numpy's BLAS as it is loaded. The matrices of models are small: more
# threads only wait for one another, by spinning, on processors that fio, a
# guest or another process could use.
os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
