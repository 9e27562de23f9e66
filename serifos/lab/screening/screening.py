# SPDX-License-Identifier: Apache-2.0
"""A screening, from a target's name to the effects of its parameters."""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import pathlib

from serifos.bench import fio
from serifos.bench import remount
from serifos.cmd import measuring
from serifos.cmd import progress
from serifos import errors
from serifos.facts import fields
from serifos.lab.screening import design as screening
from serifos.lab.screening import effects
from serifos.lab.screening import job as screen_job
from serifos.lab.screening import journal
from serifos.lab.screening import levels
from serifos.lab.screening import plan
from serifos.lab.screening import screening_page
from serifos.lab.screening import screening_target
from serifos.modeler import campaign
from serifos.report import measured

ROUNDS = 3
"""Repeats of every run where none are asked for, as in the paper."""

RESPONSES = {'bandwidth': 'bandwidth_kib_s', 'iops': 'iops',
             'latency': 'latency_us'}


@dataclasses.dataclass(frozen=True)
class ScreeningOptions:
    """The options of `screen`; errors are raised for those out of range.

    :param target: a directory, a block device or the journal of a screening
    :param runs: of the design, None for the smallest that fits
    :param rounds: how often every run is made; None for three times, and of
        a journal as often as it has every run
    :param parameters: to vary, None for all
    :param levels: (parameter, its two levels, or one to hold it at)
    :param keys: the key parameters, None to choose them by their effects
    :param runtime: of a run, seconds
    :param size_gib: of all files of a run together
    :param output: the journal, None for one after the target
    :param hang_after: seconds beyond its time after which a fio is killed
    :param yes_destroy: the answer to the confirmation, None to ask
    :param remount: mount the directory's file system anew before each run
    """

    target: str
    runs: int | None
    foldover: bool
    rounds: int | None
    seed: int
    parameters: tuple[str, ...] | None
    levels: Sequence[tuple[str, tuple[str, ...]]]
    factorial: bool
    keys: tuple[str, ...] | None
    runtime: float
    size_gib: float
    output: str | None
    hang_after: float
    yes_destroy: str | None
    response: str
    scale: str
    remount: bool = False

    def __post_init__(self) -> None:
        fields.refuse_outside('--runtime', self.runtime, 0.5, 86400, 's')
        fio.refuse_hang(self.hang_after)
        fields.refuse_outside('--rounds', 1 if self.rounds is None
                              else self.rounds, 1, 100)
        if self.keys and not 1 <= len(set(self.keys)) == len(self.keys) <= 8:
            raise errors.InputError(
                '--keys takes 1 to 8 parameters, each once.')


@dataclasses.dataclass(frozen=True)
class CheckedScreening:
    """A screening that was checked and can be done.

    :param screened: the target; None where only a journal is read
    """

    options: ScreeningOptions
    screened: screening_target.Screened | None
    header: journal.ScreeningHeader
    path: pathlib.Path
    design: screening.Signs

    @classmethod
    def of(cls, options: ScreeningOptions) -> CheckedScreening:
        if options.target.endswith('.jsonl'):
            path = pathlib.Path(options.target)
            header, _ = journal.read(path)
            return cls(options, None, header, path, _design(options, header))
        mounted = remount.recover(pathlib.Path(options.target))
        if mounted is not None:
            measuring.warn(mounted)
        found = screening_target.find(options.target, options.size_gib,
                                      options.remount)
        header = _header(options, found, fio.version())
        return cls(options, found, header, _journal(options, found),
                   _design(options, header))

    @property
    def reading(self) -> plan.ResponseScale:
        return plan.ResponseScale(RESPONSES[self.options.response],
                                  self.options.scale == 'log')

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.header.varied)

    def rows(self) -> list[dict[str, str]]:
        return plan.rows(self.header.space, self.names, self.design)

    @property
    def rounds(self) -> int:
        """The number of times that every run is made."""
        if self.options.rounds is not None:
            return self.options.rounds
        if self.screened is None:
            return plan.rounds(self.rows(), self.had())
        return ROUNDS

    def wanted(self) -> list[plan.Wanted]:
        return plan.wanted(self.rows(), self.rounds, self.options.seed)

    def had(self) -> tuple[journal.ScreeningRun, ...]:
        return journal.had(self.path, self.header)

    def lacking(self, runs: list[plan.Wanted]) -> tuple[plan.Wanted, ...]:
        """The runs to make.

        :raises InputError: where a journal that is only read lacks some
        """
        found = plan.missing(runs, self.had())
        if found and self.screened is None:
            raise errors.InputError(journal.lacks(
                self.path, self.header, len(found),
                len(plan.missing(runs, ()))))
        return found

    def show(self) -> None:
        """Prints the target, the runs and their time."""
        if self.screened is None:
            return
        had, why = journal.usable(self.path, self.header)
        todo = plan.missing(self.wanted(), had)
        total, s = len(self.wanted()), self.header.runtime_s
        facts = dict(self.screened.target.facts)
        facts['varied'] = ', '.join(
            f'{name} {low}/{high}'
            for name, (low, high) in self.header.varied.items())
        facts['held'] = ', '.join(
            f'{name} {level}' for name, level
            in self.header.held.items()) or 'none'
        files = ', and the time to write the files of each'
        facts['runs'] = (
            f'{total} x {s:g} s = {total * s / 3600:.2f} h'
            f'{files * self.screened.place.is_directory}; '
            f'{total - len(todo)} of them are made already')
        if self.options.factorial:
            facts['then'] = ('the full factorial of the key parameters, '
                             f'{2 ** screening.MOST_KEYS} runs at the most')
        facts['journal'] = str(self.path)
        measuring.show(facts)
        for line in (*filter(None, [why]), *self.header.said,
                     *screen_job.NOTES):
            measuring.say(f'note: {line}')

    def make(self, runs: list[plan.Wanted]
             ) -> tuple[journal.ScreeningRun, ...]:
        """Makes the runs that are missing; returns all runs of the journal."""
        if not self.lacking(runs) or self.screened is None:
            return self.had()
        with (progress.Stop() as stop, progress.shown() as shown,
              self.screened.open() as claims):
            run(runs, self.path, self.header,
                screening_target.measurer(
                    self.screened.place, claims, self.header.runtime_s,
                    self.options.hang_after),
                campaign.Ports(shown, stop))
        return self.had()


def run(wanted: Sequence[plan.Wanted], path: pathlib.Path,
        header: journal.ScreeningHeader, measure: screening_target.Measure,
        ports: campaign.Ports) -> int:
    """Makes every run that the journal lacks; failed ones once more.

    :param measure: makes one run; a ToolError costs that run only
    :returns: how many failed twice and are missing
    :raises Interrupted: after the run in hand, where the user stops
    :raises ToolError: where runs fail three times in a row
    """
    def make(one: plan.Wanted) -> None:
        levels, number = one
        journal.append(
            path, journal.ScreeningRun(levels, number, measure(levels)))

    total = len({journal.key(*one) for one in wanted})
    with journal.resumed(path, header):
        pending = plan.missing(wanted, journal.had(path, header))
        loop = campaign.Campaign(
            'screen', make, lambda one: header.runtime_s, path, ports,
            total - len(pending), total)
        loop.make(pending)
    return len(loop.failed)


def screened(job: CheckedScreening) -> screening_page.Found:
    """Makes the runs that are missing, and analyses all.

    :raises SerifosError: where it cannot be done, or is interrupted
    """
    todo = plan.missing(job.wanted(), job.had())
    if job.screened is not None and (todo or job.options.factorial):
        job.show()
        measuring.confirm(job.screened.target, job.options.yes_destroy)
    with measuring.stopped_at_once(job.path):
        found = _screened(job)
        return _factorial(job, found) if job.options.factorial else found


def _screened(job: CheckedScreening) -> screening_page.Found:
    made = job.make(job.wanted())
    analysis = effects.analyse(job.design, job.names, plan.responses(
        job.rows(), job.rounds, made, job.reading))
    keys = job.options.keys or screening.keys(analysis.effects)
    return screening_page.Found(
        job.path.stem, job.reading, analysis, keys, dict(job.header.varied),
        (screening_page.explained(analysis, keys, job.reading.response),
         screening_page.beyond(analysis)), about=measured.of(job.header))


def _factorial(job: CheckedScreening,
               found: screening_page.Found) -> screening_page.Found:
    space, rounds = job.header.space, job.rounds
    keys = found.keys
    signs = screening.full_factorial(len(keys))
    levels = plan.rows(space, keys, signs)
    between = [row for *_, three in plan.middles(space, keys) for row in three]
    runs = plan.wanted(plan.distinct([*levels, *between]), rounds,
                       job.options.seed)
    job.lacking(runs)
    measuring.say(f'{found.said[0]} The full factorial has {len(levels)} '
                  f'runs, with {len(between) // 3} at middle levels.')
    made = job.make(runs)
    columns, names = screening.with_interactions(signs, keys)
    analysis = effects.analyse(columns, names, plan.responses(
        levels, rounds, made, job.reading))
    # Where most columns of a small factorial are effects, its own noise is
    # overestimated.
    noise = min(analysis.noise, found.analysis.noise)
    turning = plan.turning(space, keys, rounds, made, job.reading, noise)
    split = plan.halves(
        space, keys, rounds, made, job.reading, noise,
        {middle.name for middle in turning})
    together = sum(e.share for e in analysis.effects if ' × ' in e.name)
    said = [f'Interactions explain {100 * together:.0f} % of the variation of '
            'the '
            f'full factorial of {", ".join(keys)}.',
            *(f'WARNING: {middle.words}' for middle in turning)]
    return dataclasses.replace(found, factorial=analysis, said=tuple(said),
                               split=tuple(split))


def _design(options: ScreeningOptions,
            header: journal.ScreeningHeader) -> screening.Signs:
    design = screening.of(len(header.varied), options.runs)
    for name in options.keys or ():
        if name not in header.varied:
            raise errors.InputError(
                f'{name} is not varied here, so it cannot be a key parameter; '
                f'there are {", ".join(header.varied)}.')
    return screening.foldover(design) if options.foldover else design


def _header(options: ScreeningOptions, found: screening_target.Screened,
            version: str) -> journal.ScreeningHeader:
    space = levels.space(found.place, dict(options.levels), options.parameters)
    return journal.ScreeningHeader(
        dict(found.target.identity), fio=version, runtime_s=options.runtime,
        varied=dict(space.varied), held=dict(space.held), said=space.said,
        remounted=options.remount, **campaign.this_machine())


def _journal(options: ScreeningOptions,
             found: screening_target.Screened) -> pathlib.Path:
    stem = campaign.stem(pathlib.PurePath(found.target.name).name, 'target')
    path = campaign.journal_path(options.output or f'{stem}-screening.jsonl',
                                 'journal')
    if found.mount is not None:
        remount.refuse_on(found.mount, path)
    return path
