# SPDX-License-Identifier: Apache-2.0
"""serifos-balancer explain: why a pool is slow, why a volume stays."""

from __future__ import annotations

import argparse
from typing import Any

from cliff import command

from serifos.balancer import planning
from serifos.cmd import app
from serifos.cmd.balancer import adapters
from serifos.cmd.balancer import judging
from serifos.cmd import lookup
from serifos.cmd import options
from serifos.cmd import output
from serifos.facts.cluster import Pool
from serifos.facts.cluster import Volume
from serifos.plan.outlook import explaining
from serifos.report import explanation


class Explain(app.Fails, command.Command):
    """Tell who makes a pool slow, where a volume could go, what stops it.

    By the last observation, as a plan would be made by it now. Nothing is
    written.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'name', metavar='VOLUME|POOL', help='a pool, HOST@BACKEND#POOL or '
            'what plan calls it; a volume\'s id, the beginning of it, or its '
            'name')
        options.add_observation(parser)
        output.add_format(parser, 'a serifos-explanation/1 document',
                          'the volumes of a pool, or of the pools that a '
                          'volume could go to,')
        output.add_out(parser, 'that document')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        conf = self.app.conf
        output.refuse_unwritable(parsed_args, 'explanation')
        cluster = adapters.cluster(conf, parsed_args.cluster)
        found = lookup.found(cluster, parsed_args.name)
        directory = adapters.models_dir(conf, parsed_args.models)
        models = planning.models(cluster, directory, self.say,
                                 adapters.limits_of(conf).hot_by)
        judged = judging.judged(conf, cluster, models, self.say)
        document = _document(found, judged)
        output.write(parsed_args, document)
        output.show(parsed_args, document, lambda: of(found, judged), *(
            (document['goals'], explanation.GOALS)
            if isinstance(found, Volume)
            else (document['active_volumes'], explanation.VOLUMES)))


def of(found: Pool | Volume, judged: judging.Judged) -> str:
    """What is to be said of a pool or a volume.

    :param judged: the plan of now
    """
    seen, state = judged.seen, judged.state
    if isinstance(found, Volume):
        return explanation.volume(seen, explaining.part(state, found.id))
    return explanation.pool(seen, found.name,
                            explaining.heat(state, found.name),
                            explaining.parts(state, found.name))


def _document(found: Pool | Volume,
              judged: judging.Judged) -> dict[str, Any]:
    """The same for programs."""
    seen, state = judged.seen, judged.state
    if isinstance(found, Volume):
        return explanation.volume_document(
            seen, explaining.part(state, found.id))
    return explanation.pool_document(seen, found.name,
                                     explaining.heat(state, found.name),
                                     explaining.parts(state, found.name))
