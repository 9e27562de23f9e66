# SPDX-License-Identifier: Apache-2.0
"""The errors and warnings in the services' logs, from a moment on."""

from __future__ import annotations

import pathlib

from tests.functional.testbed import layout
from tests.functional.testbed import testbed

_LINES, _LETTERS = 24, 240


class Logs:
    """Those of Nova and of cinder-volume, from now on."""

    def __init__(self, on: testbed.Testbed) -> None:
        where = on.layout
        self._paths = {name: where.control / f'{name}.log'
                       for name in ('nova-api', 'nova-conductor')}
        self._paths['nova-compute'] = where.node(
            layout.COMPUTE) / 'nova-compute.log'
        self._paths.update({
            f'cinder-volume {host.name}':
                where.node(host) / 'cinder-volume.log' for host in on.hosts})
        self._begins = {path: path.stat().st_size
                        for path in self._paths.values() if path.exists()}

    def complaints(self) -> dict[str, list[str]]:
        """Of each the first and the last lines that are no information."""
        return {name: found for name, path in self._paths.items()
                if (found := _complaints(path, self._begins.get(path, 0)))}


def _complaints(path: pathlib.Path, begin: int) -> list[str]:
    if not path.exists():
        return []
    with open(path, 'rb') as file:
        file.seek(begin)
        said = file.read().decode(errors='replace')
    found = [line[:_LETTERS] for line in said.splitlines()
             if ' ERROR ' in line or ' WARNING ' in line]
    return found if len(found) <= _LINES else [
        *found[:_LINES // 2], *found[-_LINES // 2:]]
