# SPDX-License-Identifier: Apache-2.0
"""serifos-model screen: which parameters of a workload matter here."""

from __future__ import annotations

import argparse
from typing import Any

from cliff import lister

from serifos.cmd import app
from serifos.cmd import measuring
from serifos.cmd import paging
from serifos.lab.screening import page as screen_report
from serifos.lab.screening import screening


class Screen(app.Fails, lister.Lister):
    """Tell which of fio's parameters decide a target's performance.

    TARGET is a directory, in which files are made and removed; a block
    device (everything on it is lost, and parameters about files are
    dropped); or the journal of a screening made before, NAME-screening.jsonl,
    whose runs are read and none made. The same command goes on where an
    earlier one was stopped.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        screening.add_arguments(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        job = screening.Job.of(parsed_args)
        if parsed_args.show:
            job.show()
            runs = job.wanted()
            names = [*runs[0][0]]
            return (('run', 'round', *names),
                    [(n, number, *(levels[name] for name in names))
                     for n, (levels, number) in enumerate(runs, 1)])
        found = screening.screened(job)
        for line in found.said:
            measuring.say(line)
        paging.write(parsed_args, lambda: screen_report.page_of(found),
                     measuring.say)
        return screening.HEADER, screening.rows(found)
