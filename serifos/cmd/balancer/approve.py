# SPDX-License-Identifier: Apache-2.0
"""serifos-balancer approve and cancel: release plans in mode approve."""

from __future__ import annotations

import argparse
import os
import pwd
import time

from serifos.balancer import plans
from serifos.cmd.balancer import verb
from serifos import errors
from serifos.facts import journal
from serifos.facts import phrases
from serifos.facts import times


class _Says(verb.Verb):
    """A verb by which a person releases or cancels a stored plan."""

    _by = ''

    def run(self, parsed_args: argparse.Namespace) -> int:
        self._by = _person()  # root goes on as the owner of state_dir
        return super().run(parsed_args)

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('plan', metavar='PLAN',
                            help='id of the plan, as the verb plans lists it')
        return parser

    def standing(self, plan_id: str) -> plans.Standing:
        """:raises InputError: where no such plan is stored"""
        now, stored = time.time(), self.plans()
        found, = plans.standings(
            [stored.stored(plan_id)], journal.corrected(
                self.journal().entries(), now), now)
        return found


class Approve(_Says):
    """Let mode approve carry a stored plan out.

    Its moves are requested by the next rounds, each once, as far as they are
    still possible then, within windows and limits, until the plan expires.
    """

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        found = self.standing(parsed_args.plan)
        plan = found.plan
        if plan.expires_at <= time.time():
            raise errors.InputError(
                f'Plan {plan.id} expired at {times.text(plan.expires_at)}; '
                'approve a newer one.')
        if found.state == plans.CARRIED_OUT or not plan.moves:
            raise errors.InputError(
                f'Plan {plan.id} has no move that is left.')
        if found.approved_by is not None:
            print(f'Plan {plan.id} is approved already, by '
                  f'{found.approved_by}.')
            return
        self.journal().write('approve', plan=plan.id, by=self._by)
        print(f'Plan {plan.id} is approved: '
              f'{phrases.count(plan.move_count, "volume")}, '
              f'{plan.size_gib:,.6g} GiB.')
        mode = self.app.conf.balancer.mode
        if mode != 'approve':
            self.say(f'[balancer] mode is {mode} here: only mode approve '
                     'carries approved plans out.')


class Cancel(_Says):
    """Take the approval of a plan back.

    What is under way is followed to its end; no further move of the plan is
    requested in mode approve.
    """

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        found = self.standing(parsed_args.plan)
        if found.approved_by is None:
            print(f'Plan {found.plan.id} is not approved.')
            return
        self.journal().write('cancel', plan=found.plan.id, by=self._by)
        print(f'Plan {found.plan.id} is no longer approved.')


def _person() -> str:
    """Who runs this, by sudo or not."""
    by_sudo = os.environ.get('SUDO_USER', '')
    if by_sudo.isprintable() and 0 < len(by_sudo) <= 255:
        return by_sudo
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())
