# SPDX-License-Identifier: Apache-2.0
"""serifos-model import: a dataset from outputs of fio that exist."""

from __future__ import annotations

import argparse

from cliff import command

from serifos.bench import fio_output
from serifos.cmd import app
from serifos import errors
from serifos.files import atomic
from serifos.files import documents
from serifos.modeler import campaign


class Import(app.Fails, command.Command):
    """Make a dataset of outputs of fio that exist already."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'files', metavar='FIO_JSON', nargs='+', help='outputs of fio on '
            'one device, in its format json or json+')
        parser.add_argument(
            '-o', '--output', required=True, metavar='DATASET',
            help='write the runs to this file, NAME.jsonl, which must not '
            'exist')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        path = campaign.journal_path(parsed_args.output, 'dataset')
        atomic.refuse_unwritable(path, 'dataset')
        if path.exists() and path.stat().st_size:
            raise errors.InputError(
                f'{path} exists already; give another --output, or remove '
                'it.')
        outputs = {}
        for name in parsed_args.files:
            try:
                outputs[name] = fio_output.read(
                    atomic.read_text(name, 'fio output'))
            except (errors.FormatError, errors.ToolError) as exc:
                self._leave_out(name, exc, 'file')
                continue
            for why in outputs[name].left_out:
                self._leave_out(name, why, 'run')
        found = fio_output.combined(outputs)
        documents.write_dataset(path, found)
        number = len(found.samples)
        self.note(f'{path} has {number} run{"s" * (number > 1)}.')
        print(path)

    def _leave_out(self, name: str, why: object, what: str) -> None:
        self.say(f'{name}: {str(why).rstrip(".")}; the {what} is left out.')
