# SPDX-License-Identifier: Apache-2.0
"""Configuration files: where they are, and options that nothing reads."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import difflib
import glob
import os

from oslo_config import cfg

from serifos import errors

MOST_BYTES = 2 ** 24
"""Of a file; one that has no end is none."""

_ALIKE = 0.75
"""How much a section is like one of ours to be one mistyped, up to 1."""


def paths(given: Sequence[str], project: str,
          program: str | None = None) -> list[str]:
    """The files that oslo.config reads, those it reads last at the end.

    :param given: files and directories instead of those of the project
    """
    folders = [*filter(os.path.isdir, given)] or cfg.find_config_dirs(
        project, program)
    files = [path for path in given if not os.path.isdir(path)]
    return [*(files or cfg.find_config_files(project, program)), *(
        path for folder in folders
        for path in sorted(glob.glob(os.path.join(folder, '*.conf'))))]


def sections(path: str) -> dict[str, dict[str, list[str]]]:
    """Section → option → its values, as they are written."""
    found: dict[str, dict[str, list[str]]] = {}
    cfg.ConfigParser(path, found).parse()
    return found


def unknown(files: Iterable[str],
            known: Mapping[str, Collection[str]]) -> Iterator[str]:
    """A sentence for each option of ours that nothing reads.

    Sections of others are left alone, and what others have in DEFAULT.

    :param known: group → its options
    """
    for path in files:
        for section, options in sections(path).items():
            yield from (errors.one_line(f'{path}: {said}')
                        for said in _of_section(section, options, known))


def _of_section(section: str, options: Collection[str],
                known: Mapping[str, Collection[str]]) -> Iterator[str]:
    group = section if section == 'DEFAULT' else section.lower()
    for name in options:
        ours = [its for its, names in known.items() if name in names]
        if group in ours or group == 'DEFAULT' and not ours:
            continue
        if group == 'DEFAULT' or group in known:
            yield (f'[{section}] {name} is not an option and has no '
                   'effect; '
                   + _remedy(name, known.get(group, ()), ours))
        elif nearest := difflib.get_close_matches(group, ours, 1, _ALIKE):
            yield (f'[{section}] is not a section and has no effect; '
                   f'did you mean [{nearest[0]}]?')
            return


def _remedy(name: str, names: Collection[str], ours: Sequence[str]) -> str:
    if ours:
        return f'it belongs in [{"] or [".join(ours)}].'
    nearest = difflib.get_close_matches(name, names, 1)
    return f'did you mean {nearest[0]}?' if nearest else 'take it out.'
