# SPDX-License-Identifier: Apache-2.0
"""Makes Python start programs by vfork instead of fork.

In a guest the fork of a Python of 130 MB costs 0.2 to 0.5 s, a vfork 0.03 s.
oslo.concurrency always passes a preexec_fn, with which subprocess cannot
vfork; all that it does is to restore SIGPIPE, which subprocess does anyway.
"""

import functools
import subprocess

_start = subprocess.Popen.__init__


@functools.wraps(_start)
def _start_by_vfork(self, *args, preexec_fn=None, **kwargs):
    _start(self, *args, **kwargs)


subprocess.Popen.__init__ = _start_by_vfork
