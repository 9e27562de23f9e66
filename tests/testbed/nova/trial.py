# SPDX-License-Identifier: Apache-2.0
"""One fault at one stage of an in-use migration: what becomes of it.

A server's volume is moved by ``serifos-balancer apply``, its tenant at work;
at the stage the fault is made. Afterwards all is as it was before.
"""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import json
import time
from typing import Any

from serifos.plan.plan import Change
from serifos.plan.plan import Move
from serifos.plan.plan import Plan
from tests.testbed.balancer import Balancer
from tests.testbed import layout
from tests.testbed import logs
from tests.testbed import network
from tests.testbed.nova import cases
from tests.testbed.nova import leftover
from tests.testbed.nova.migration import Migration
from tests.testbed.nova import proof
from tests.testbed.nova.servers import Servers
from tests.testbed import testbed

APPLY_S = 240
"""After which apply gives up."""

ASKED_S = 90
"""Within which Nova is asked for the copy."""

STUCK_S = 90
"""Without a change after which a migration is stuck, all being repaired."""

LEAST_S = 120
"""That a migration has after the repair, in any case."""

MOST_S = 900

AUTO_S = 1800
"""Within which mode auto recovers what is stuck."""

Auto = Callable[[], contextlib.AbstractContextManager[None]]

_WATCHED = ('records', 'attachments', 'server', 'block job')


class Trial:
    """A case: the name of a fault, and a stage.

    :param scene: that an earlier one left as it was; ``scene`` is what this
        one leaves, None where it is of no use
    :param in_auto: a context in which the balancer runs in mode auto, and is
        left to recover what is stuck; None for ``recover``
    """

    def __init__(self, on: testbed.Testbed, balancer: Balancer,
                 fault: str, stage: str, scene: cases.Scene | None,
                 in_auto: Auto | None) -> None:
        self._on = on
        self._balancer = balancer
        self._fault = cases.FAULTS[fault]
        self._stage = stage
        self._in_auto = in_auto
        self._servers = Servers(on)
        self.scene = scene
        self._row: dict[str, Any] = {
            'fault': fault, 'stage': stage, 'said': {}}

    def run(self, keep: Callable[[dict[str, Any]], None]) -> None:
        """Keeps the result before it cleans up.

        :raises TestbedError: where the testbed is not as it was before
        """
        self._scene = self.scene or self._prepare()
        migration = self._migration
        self.scene, complaints = None, logs.Logs(self._on)
        with migration.watched() as watch:
            self._watch = watch
            self._move(migration)
            self._row['actions'] = migration.actions()
            after = leftover.Leftover(self._scene, self._row, watch)
            self._row['outcome'] = self._outcome(migration, after)
            if self._row['outcome'] == 'stuck':
                self._recover(migration)
            self._row['said']['run'] = self._said('run', '--once')
            self.scene = after.look()
        self._row['timeline'] = watch.lines
        self._row['logs'] = complaints.complaints()
        try:
            self.clean_up()
        finally:
            keep(self._row)

    @property
    def _migration(self) -> Migration:
        scene = self._scene
        return Migration(self._on, self._servers, scene.server,
                         scene.volume)

    def _prepare(self) -> cases.Scene:
        on, source = self._on, cases.HOSTS[0]
        root = self._servers.create_root('root', on.host(cases.ROOTS))
        volume = self._servers.volumes.create_volume(
            'data', host=on.host(source))
        kept = proof.Proof(on, self._servers, volume)
        server = self._servers.boot('tenant', root)
        kept.attach(server)
        return cases.Scene(on, self._servers, server, volume, source, kept)

    def _move(self, migration: Migration) -> None:
        """Starts the move, makes the fault, waits until it is over."""
        watch, fault, scene = self._watch, self._fault, self._scene
        apply = self._balancer.start('apply', self._plan(), '--yes')
        try:
            migration.wait_stage(
                self._stage, lambda: apply.poll() is not None)
        except layout.TestbedError as error:
            apply.terminate()
            said = _lines(*apply.communicate(timeout=60))
            raise layout.TestbedError(f'{error} {" ".join(said)}')
        watch.note('fault', f'{self._stage} is reached')
        self._scene.proof.console()
        struck = watch.now
        answer = fault.strike(scene)
        watch.note('fault', f'{fault.words}: {answer or "done"}')
        self._row['answer'] = answer
        if fault.repair:
            time.sleep(fault.after)
            fault.repair(scene)
            watch.note('fault', 'is repaired')
        self._wait_over(migration, watch.now)
        self._row['seconds'] = round(watch.now - struck)
        out, err = apply.communicate(timeout=APPLY_S + 120)
        watch.note('apply', 'ended')
        self._row['said']['apply'] = _lines(out, err)

    def _plan(self) -> str:
        """The file of a plan that moves the volume."""
        on, now = self._on, time.time()
        before = Change(1, 1)
        plan = Plan('relieve', (Move(
            self._scene.volume, on.host(self._scene.source).pool,
            on.host(self._scene.target).pool, 1, 2000, 1000, 500, 1000,
            'it is the tenant of this trial'),), (), False, {}, before,
            before, before).issued('trial', now, 3600)
        path = self._balancer.state / 'trial.plan'
        path.write_text(json.dumps(plan.to_json()))
        return str(path)

    def _wait_over(self, migration: Migration, repaired: float) -> None:
        """Until the migration is over, or stuck."""
        watch = self._watch
        since = 0.0
        while watch.now < MOST_S:
            time.sleep(0.5)
            try:
                over = migration.over
            except OSError:
                over = False
            # It looks over for a moment while it is not.
            since = since if over and since else watch.now if over else 0.0
            last = max(watch.changed.get(what, 0) for what in _WATCHED)
            if since and watch.now - since > 5:
                watch.note('migration', 'is over')
                return
            if (watch.now - repaired > LEAST_S
                    and watch.now - last > STUCK_S):
                watch.note('migration', 'is stuck')
                return
        watch.note('migration', f'not over after {MOST_S} s')

    def _outcome(self, migration: Migration,
                 after: leftover.Leftover) -> str:
        if not migration.over:
            return 'stuck'
        return 'moved' if after.volume() == self._on.host(
            self._scene.target).pool else 'stayed'

    def _recover(self, migration: Migration) -> None:
        """What recover says, and whether the volume is at rest then."""
        if self._in_auto:
            with self._in_auto():
                self._wait_recovered(migration, AUTO_S)
            self._row['said']['history'] = self._said('history')
        else:
            # Nova may take so long, from when it is asked.
            time.sleep(max(0, APPLY_S + ASKED_S - self._watch.now))
            self._row['said']['recover'] = self._said(
                'recover', self._scene.volume, '--yes')
            self._wait_recovered(migration, 60)
        self._watch.note('recover', self._row['outcome'])

    def _wait_recovered(self, migration: Migration,
                        seconds: float) -> None:
        with contextlib.suppress(layout.TestbedError):
            network.wait_for('the migration is over',
                             lambda: migration.over, seconds, every=1)
            self._row['outcome'] = 'recovered'

    def _said(self, *arguments: str) -> list[str]:
        code, out, err = self._balancer.run(*arguments, seconds=900)
        return [f'exit code {code}', *_lines(out, err)]

    def clean_up(self) -> None:
        """Ends the server and removes all volumes, unless they are of use.

        :raises TestbedError: where that cannot be done
        """
        on, scene, migration = self._on, self._scene, self._migration
        cases.repair_all(scene)
        if self.scene:
            scene.proof.attach(scene.server)
            return
        self._scene.proof.console()
        if migration.over and self._row.get('server') != 'gone':
            self._servers.delete(scene.server)
        else:
            # Of a server that was deleted in the copy an attachment may stay.
            cases.cure(scene, [copy['id'] for copy in migration.copies()])
            network.wait_for('the migration is over',
                             lambda: migration.over, 60, every=1)
        self._scene.proof.check_at_rest()
        left = {volume['id'] for volume in on.api.volumes()}
        on.delete_volumes(left)
        on.wait_room()


def _lines(out: str, err: str) -> list[str]:
    return [line.rstrip() for line in (out + err).splitlines()
            if line.strip() and 'telemetry, seconds' not in line]
