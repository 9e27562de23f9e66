# SPDX-License-Identifier: Apache-2.0

import os

from serifos.files import owners
from tests.unit import case

NOBODY = 65534


class AsOwnerTest(case.DirectoryCase):
    """Who works as the owner of a directory for a while."""

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest('only root can work as another user')
        self.who = self.identity()

    def identity(self):
        return os.geteuid(), os.getegid(), os.getgroups()

    def test_files_are_the_owners_and_root_is_root_again(self):
        os.chown(self.dir, NOBODY, NOBODY)
        self.dir.chmod(0o755)
        with owners.as_owner(self.dir):
            (self.dir / 'made').touch()
        info = (self.dir / 'made').stat()
        self.assertEqual((NOBODY, NOBODY), (info.st_uid, info.st_gid))
        self.assertEqual(self.who, self.identity())

    def test_root_is_root_again_after_an_error(self):
        os.chown(self.dir, NOBODY, NOBODY)
        try:
            with owners.as_owner(self.dir):
                raise ValueError
        except ValueError:
            pass
        self.assertEqual(self.who, self.identity())

    def test_a_directory_of_root_or_of_nobody_changes_nothing(self):
        for directory in self.dir, self.dir / 'gone':
            with owners.as_owner(directory):
                self.assertEqual(self.who, self.identity())
