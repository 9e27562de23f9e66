# SPDX-License-Identifier: Apache-2.0
"""Base of the verbs of serifos-balancer: its owner, journal and plans."""

from __future__ import annotations

import argparse

from cliff import command

from serifos.cmd import app
from serifos.cmd.balancer import databases
from serifos.database.journal import Journal
from serifos.database.plans import Plans
from serifos.files import owners


class _AsOwner(command.Command):
    """A verb that root runs as the owner of state_dir."""

    def run(self, parsed_args: argparse.Namespace) -> int:
        owners.work_as_owner(self.app.conf.serifos.state_dir)
        return super().run(parsed_args)


class Verb(app.Fails, _AsOwner):
    """A verb that goes by the journal, the plans and files."""

    def journal(self) -> Journal:
        """:raises InputError: where there is no state_dir"""
        return databases.journal(self.app.conf)

    def plans(self) -> Plans:
        """Where plans are stored.

        :raises InputError: where the URL of the database is invalid
        """
        return databases.plans(self.app.conf)
