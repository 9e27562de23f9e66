# SPDX-License-Identifier: Apache-2.0
"""A test with a directory of its own."""

import pathlib

import fixtures
import testtools


class DirectoryCase(testtools.TestCase):
    """A test with an empty directory, ``dir``, that is removed after it."""

    def setUp(self):
        super().setUp()
        self.dir = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
