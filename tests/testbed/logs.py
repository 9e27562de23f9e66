# SPDX-License-Identifier: Apache-2.0
"""The errors and warnings in the services' logs, from a moment on."""

from __future__ import annotations

import pathlib

from tests.testbed import testbed

_LINES, _LETTERS = 24, 240
_WORDS = (' ERROR ', ' WARNING ', ' CRITICAL ', '[ERROR]', '[Warning]')
"""Of oslo.log, and of MariaDB."""


class Logs:
    """Those of all services of a testbed, from now on."""

    def __init__(self, on: testbed.Testbed) -> None:
        self._directory = on.layout.directory
        self._begins = {path: path.stat().st_size for path in self._paths()}

    def rewind(self) -> None:
        """From when the testbed came up, not from now on."""
        self._begins.clear()

    def _paths(self) -> list[pathlib.Path]:
        return sorted([*self._directory.glob('control/*.log'),
                       *self._directory.glob('*/cinder-volume.log'),
                       *self._directory.glob('*/nova-compute.log')])

    def complaints(self) -> dict[str, list[str]]:
        """Of each the first and the last lines that are no information.

        The keys are as control/api.log.
        """
        return {str(path.relative_to(self._directory)): found
                for path in self._paths()
                if (found := _complaints(path, self._begins.get(path, 0)))}


def _complaints(path: pathlib.Path, begin: int) -> list[str]:
    with open(path, 'rb') as file:
        file.seek(begin)
        said = file.read().decode(errors='replace')
    found = [line[:_LETTERS] for line in said.splitlines()
             if any(word in line for word in _WORDS)]
    return found if len(found) <= _LINES else [
        *found[:_LINES // 2], *found[-_LINES // 2:]]
