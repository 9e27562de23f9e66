# SPDX-License-Identifier: Apache-2.0
"""A test with a directory of its own, and how long tests wait."""

import pathlib
import time

import fixtures
import testtools

PATIENCE_S = 600.0
"""Within which any event comes that a test waits for, on a busy machine."""


def wait_until(true, seconds=PATIENCE_S):
    """Returns as soon as it is so."""
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            raise AssertionError(f'still not so after {seconds} s')
        time.sleep(0.02)


class DirectoryCase(testtools.TestCase):
    """A test with an empty directory, ``dir``, that is removed after it."""

    def setUp(self):
        super().setUp()
        self.dir = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
