# SPDX-License-Identifier: Apache-2.0
"""What Watcher hands to our strategy and action, as a function of bytes.

An input is a JSON object: the ``parameters`` and the ``scope`` of an audit,
and the input parameters of an ``action``. It needs Watcher.
"""

from __future__ import annotations

import datetime
import json
import pathlib
import shutil
import types
from typing import Any

from serifos import errors
from tests.fuzz import arguments
from tests.fuzz import files


def _conf() -> types.SimpleNamespace:
    """Watcher's options, of a serifos.conf whose observation is of now."""
    file = files.file_of(b'', 'serifos.conf', alone=True)
    file.write_text(arguments.CONF.replace('= .', f'= {file.parent}'))
    shutil.copyfile(files.CORPUS / 'model/outstanding.json',
                    file.parent / 'm.json')
    _observe(file.parent / 'cluster.json', json.loads(
        (files.CORPUS / 'cluster/cluster.json').read_bytes()))
    return types.SimpleNamespace(serifos_conf=str(file))


def _observe(file: pathlib.Path, doc: dict[str, Any]) -> None:
    now = datetime.datetime.now(datetime.UTC)
    file.write_text(json.dumps({
        **doc, 'observed_at': now.isoformat(timespec='seconds')}))


def audit(data: bytes) -> None:
    """The parameters and the scope of an audit; those of an action."""
    import jsonschema
    from watcher.applier.actions import base
    from watcher.common import exception

    from serifos.watcher import action
    from serifos.watcher import strategy
    try:
        said = json.loads(data)
    except (RecursionError, ValueError):
        return
    said = said if isinstance(said, dict) else {'scope': said}
    conf = _conf()
    planned = strategy.Serifos(conf)
    parameters = said.get('parameters')
    planned.input_parameters = (
        parameters if isinstance(parameters, dict) else {})
    planned.audit_scope = said.get('scope')
    try:
        planned.pre_execute()
        planned.do_execute()
    except errors.SerifosError as exc:
        str(exc).encode()
    made: base.BaseAction = action.Migrate(conf)
    made.input_parameters = said.get('action')
    try:
        made.validate_parameters()
        made.pre_condition()
        made.execute()
    except (jsonschema.ValidationError, exception.ActionExecutionFailure):
        pass
