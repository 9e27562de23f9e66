# SPDX-License-Identifier: Apache-2.0
"""serifos-model build: measure a target and fit its model."""

from __future__ import annotations

import argparse
import pathlib
import pkgutil
from typing import Any

from cliff import show

from serifos.cmd import app
from serifos.cmd import measuring
from serifos.cmd.model import design_options
from serifos.cmd.model import fit as model_fit
from serifos import errors
from serifos.files import documents
from serifos.model import fit
from serifos.model import kinds
from serifos.modeler import adaptive


class Build(app.Fails, show.ShowOne):
    """Measure a device with fio and fit its latency model.

    TARGET is a block device (everything on it is lost), the name of a
    volume group (scratch volumes are made in its free space and removed), or
    file:PATH (a scratch file is made and removed). Runs are chosen one after
    another until more would not improve the model; --runs, --full,
    --sampled and --tests fix them instead. The same command resumes an
    interrupted one.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        measuring.add_arguments(parser)
        parser.add_argument(
            '--models-dir', metavar='DIR',
            help='write the model, NAME.json, to this directory (default: '
                 'beside the dataset)')
        model_fit.add_kind(parser)
        model_fit.add_tails(parser)
        design_options.add_arguments(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        given = parsed_args.kind
        asked = [kinds.of(kind) for kind in (
            fit.AUTO if given == 'auto' else (given,))]
        models = parsed_args.models_dir
        if models is not None and not pathlib.Path(models).is_dir():
            raise errors.InputError(
                f'There is no directory {models} for the model; make it '
                'first.')
        design, plan = design_options.chosen(
            parsed_args, any(kind.distributions for kind in asked))
        chooser = plan and adaptive.Chooser(
            plan, design_options.enough(parsed_args))
        deciding = (adaptive.Deciding(design, measuring.say)
                    if given == 'auto' and design_options.is_short(
                        parsed_args) else None)
        path = measuring.measure(
            parsed_args, design, chooser and chooser.adaptive,
            # To load them takes seconds, which no refusal has to wait for.
            lambda: [pkgutil.resolve_name(kind.fitter) for kind in asked],
            deciding and deciding.again)
        if path is None:
            return (), ()
        if chooser and (saved := chooser.saved(
                design, design_options.paper())):
            measuring.say(saved)
        dataset = documents.read_dataset(path)
        model = fit.fit(dataset, given, path.stem,
                        dataset_facts={'sha256': documents.digest(path)},
                        held_out=deciding and deciding.held_out)
        out = pathlib.Path(models or path.parent, f'{path.stem}.json')
        documents.write_model(out, model)
        if parsed_args.tails:  # of which there may be too few runs
            model = fit.with_tails(model, dataset, given)
            documents.write_model(out, model)
        measuring.say(f'The runs are in {path}, the model is in {out}.')
        return model_fit.told(model, parsed_args)
