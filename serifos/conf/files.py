# SPDX-License-Identifier: Apache-2.0
"""Configuration files: where they are, and what stands in them."""

from __future__ import annotations

from collections.abc import Sequence
import glob
import os

from oslo_config import cfg

MOST_BYTES = 2 ** 24
"""Of a file; one that has no end is none."""


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
