# SPDX-License-Identifier: Apache-2.0
"""An audit by the strategy serifos, carried out by Watcher's own applier.

    python -m tests.testbed.by_watcher SERIFOS_CONF

By the Python of a Watcher; prints as JSON what became of the audit, its
action plan and the actions, and on stderr what they logged.
"""

import json
import logging
import pathlib
import sys

from tests.unit.watcher import engine


def main(serifos_conf: str) -> None:
    logging.basicConfig(level=logging.INFO, force=True)
    watcher = engine.Engine(pathlib.Path(serifos_conf).read_text())
    audit = watcher.audit({})
    found = {'audit': audit.state}
    if audit.state == 'SUCCEEDED':
        plan = watcher.carried_out(watcher.plan(audit))
        found |= {'plan': plan.state, 'actions': [
            {'state': each.state, **each.input_parameters}
            for each in watcher.actions(plan)]}
    print(json.dumps(found))


main(sys.argv[1])
