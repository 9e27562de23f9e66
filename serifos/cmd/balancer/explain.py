# SPDX-License-Identifier: Apache-2.0
"""serifos-balancer explain: why a pool is slow, why a volume stays."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from cliff import command

from serifos.balancer import planning
from serifos.cmd import app
from serifos.cmd.balancer import adapters
from serifos.cmd.balancer import judging
from serifos.cmd import options
from serifos.cmd import output
from serifos import errors
from serifos.facts.cluster import Cluster
from serifos.facts.cluster import Pool
from serifos.facts.cluster import Volume
from serifos.facts import names
from serifos.plan import explain
from serifos.report import explanation
from serifos.report import wording

_PREFIX, _SHOWN = 4, 5


class Explain(app.Fails, command.Command):
    """Explain why a pool is slow, or where a volume could go.

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
        found = find(cluster, parsed_args.name)
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
        return explanation.volume(seen, explain.part(state, found.id))
    return explanation.pool(seen, found.name,
                            explain.heat(state, found.name),
                            explain.parts(state, found.name))


def _document(found: Pool | Volume,
              judged: judging.Judged) -> dict[str, Any]:
    """The same for programs."""
    seen, state = judged.seen, judged.state
    if isinstance(found, Volume):
        return explanation.volume_document(
            seen, explain.part(state, found.id))
    return explanation.pool_document(seen, found.name,
                                     explain.heat(state, found.name),
                                     explain.parts(state, found.name))


def find(cluster: Cluster, said: str) -> Pool | Volume:
    """The pool or volume that is meant.

    A pool by its name, its backend or host where these have no other, as
    tables have it, or else by what only its name begins with up to a ``.``,
    ``@`` or ``#``; a volume by its id, its name, what tables call it, or four
    or more characters that its id, else only its name begins with.

    :raises InputError: where there is none, or several
    """
    pools = {pool.name for pool in cluster.pools}
    if said in pools:
        return cluster.pool(said)
    meant = [name for name in sorted(pools) if said in names.forms(name)]
    meant = meant if len(meant) == 1 else [
        name for name, shown in wording.pools(pools).items() if said == shown]
    if len(meant) == 1:
        return cluster.pool(meant[0])
    shown_as = wording.volumes(cluster)
    for fits in (lambda v: v.id == said, lambda v: v.name == said,
                 lambda v: shown_as[v.id] == said,
                 lambda v: len(said) >= _PREFIX and v.id.startswith(said),
                 lambda v: len(said) >= _PREFIX and (
                     v.name or '').startswith(said)):
        volumes = [volume for volume in cluster.volumes if fits(volume)]
        if len(volumes) == 1:
            return volumes[0]
        if volumes:
            raise _several('volumes', 'ids', said, [
                volume.id for volume in volumes])
    begin = [name for name in sorted(pools)
             if name.startswith(tuple(f'{said}{end}' for end in '.@#'))]
    if len(begin) == 1:
        return cluster.pool(begin[0])
    if begin:
        raise _several('pools', 'names', said, begin)
    raise errors.InputError(
        f'The cluster has no pool and no volume {errors.one_line(said)}.')


def _several(what: str, called: str, said: str,
             names: Sequence[str]) -> errors.InputError:
    more = len(names) - _SHOWN
    return errors.InputError(
        f'{len(names)} {what} are called {errors.one_line(said)}; give one of '
        f'their {called}: {", ".join(names[:_SHOWN])}'
        + (f' and {more} more' if more > 0 else '') + '.')
