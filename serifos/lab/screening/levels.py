# SPDX-License-Identifier: Apache-2.0
"""The parameters varied on a target, their levels, and those held.

What a target cannot take of the paper's parameters and levels is changed or
dropped, and said.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses

from serifos import errors
from serifos.lab.screening import parameters


@dataclasses.dataclass(frozen=True)
class JobTarget:
    """The place of the jobs: a directory of files, or a block device.

    :param size: bytes of all files of a run together, or of the device
    :param logical_block: bytes of the smallest direct request
    """

    path: str
    size: int
    is_directory: bool
    logical_block: int


@dataclasses.dataclass(frozen=True)
class Levels:
    """The parameters that are varied, and the levels of the others.

    :param varied: name → (low, high)
    :param held: name → level
    :param said: what became of the paper's parameters here, sentences
    """

    varied: Mapping[str, tuple[str, str]]
    held: Mapping[str, str]
    said: tuple[str, ...] = ()

    def run(self, levels: Mapping[str, str]) -> dict[str, str]:
        """Every parameter's level, in the order of the paper."""
        known = {**{name: low for name, (low, _) in self.varied.items()},
                 **self.held, **levels}
        return {name: known[name] for name in parameters.PARAMETERS
                if name in known}

    def middle(self, name: str) -> str | None:
        """A level between the two of a number (geometric), or None."""
        low, high = self.varied[name]
        kind = parameters.PARAMETERS[name].kind
        if kind not in ('count', 'size'):
            return None
        a, b = parameters.number(low), parameters.number(high)
        found = round((max(a, 1) * b) ** 0.5)
        if kind == 'size':
            found = 2 ** (found.bit_length() - 1)
        text = parameters.size_text(found) if kind == 'size' else str(found)
        return text if a < found < b else None


def space(place: JobTarget, asked: Mapping[str, tuple[str, ...]],
          only: tuple[str, ...] | None = None) -> Levels:
    """The levels on a target: the paper's, or those that were asked for.

    :param asked: name → (level to hold,) or (low, high)
    :param only: names to vary; the others are held at their low level
    :raises InputError: where levels cannot be, or cannot go together
    """
    for name in (*asked, *(only or ())):
        if name not in parameters.PARAMETERS:
            raise errors.InputError(
                f'There is no parameter {name}; there are '
                f'{", ".join(parameters.PARAMETERS)}.')
    known = {name: tuple(parameters.checked(name, level) for level in levels)
             for name, levels in asked.items()}
    here = {name: p for name, p in parameters.PARAMETERS.items()
            if place.is_directory or not p.about_files}
    for name in (*known, *(only or ())):
        if name not in here:
            raise errors.InputError(
                f'{name} is about files, and {place.path} is a device; '
                'leave it out.')
    levels = {name: known.get(name, (p.low, p.high))[
        :2 if only is None or name in only else 1] for name, p in here.items()}
    said = [*_dropped(place)]
    if place.is_directory:
        said += _fit_files(place, levels, 'max_file_size' in known)
    said += _fit_blocks(place, levels, 'min_block_size' in known)
    _refuse_disorder(levels)
    _refuse_small(place, levels)
    varied = {name: (pair[0], pair[1]) for name, pair in levels.items()
              if len(pair) == 2}
    if not varied:
        raise errors.InputError('No parameter is varied; vary one at least.')
    return Levels(varied, {name: pair[0] for name, pair in levels.items()
                           if name not in varied}, tuple(said))


def _dropped(place: JobTarget) -> Iterator[str]:
    names = [p.name for p in parameters.PARAMETERS.values() if p.about_files]
    if not place.is_directory:
        yield (f'{", ".join(names)} are about files and dropped: '
               f'{place.path} is a device')


def _fit_files(place: JobTarget, levels: dict[str, tuple[str, ...]],
               was_asked: bool) -> Iterator[str]:
    """Scales file sizes so that the files of a run fit in the size."""
    files = parameters.number(levels['files_used'][-1]) * parameters.number(
        levels['thread_count'][-1])
    low, *_ = sizes = levels['max_file_size']
    most, wanted = place.size // files, parameters.number(sizes[-1])
    if wanted > most:
        fits = 2 ** (most.bit_length() - 1) if most else 0
        if was_asked or fits <= parameters.number(low):
            raise errors.InputError(
                f'{files} files (files_used times thread_count) of up to '
                f'{sizes[-1]} need more than the '
                f'{place.size / parameters.GIB:.4g} GiB of --size-gib; give '
                f'{2 * parameters.number(low) * files / parameters.GIB:.4g} '
                'or more, or other --levels of these.')
        levels['max_file_size'] = low, parameters.size_text(fits)
        yield (f'max_file_size goes up to {parameters.size_text(fits)}, not '
               f'{parameters.size_text(wanted)}, for {files} files to fit in '
               f'--size-gib {place.size / parameters.GIB:g} '
               f'({files * wanted / parameters.GIB:g} would hold them)')
    if (parameters.number(levels['min_file_size'][0])
            < parameters.number(levels['min_block_size'][-1])):
        yield ('a file holds one block at least: min_file_size is that of '
               'min_block_size where it would be less')


def _fit_blocks(place: JobTarget, levels: dict[str, tuple[str, ...]],
                was_asked: bool) -> Iterator[str]:
    """Makes direct requests whole blocks of the device."""
    block = place.logical_block
    sizes = [parameters.number(level)
             for name in ('min_block_size', 'max_block_size')
             for level in levels[name]]
    if 'true' not in levels['directio'] or all(
            size % block == 0 for size in sizes):
        return
    text = parameters.size_text(block)
    low, *high = levels['min_block_size']
    if was_asked or any(size % block for size in sizes if size > block):
        raise errors.InputError(
            f'{place.path} takes only direct requests of multiples of '
            f'{text}; give such block sizes, or --levels directio=false.')
    if high and parameters.number(high[0]) > block:
        levels['min_block_size'] = (text, high[0])
        yield (f'min_block_size goes down to {text}, not {low}: directio '
               'takes no less here')
    else:
        levels['min_block_size'] = (text,)
        yield (f'min_block_size is dropped and held at {text}: directio '
               f'takes no {low} here')


def _refuse_disorder(levels: Mapping[str, tuple[str, ...]]) -> None:
    for name, pair in levels.items():
        kind = parameters.PARAMETERS[name].kind
        if kind in ('count', 'size') and len(pair) == 2:
            if parameters.number(pair[0]) >= parameters.number(pair[1]):
                raise errors.InputError(
                    f'{name} goes from {pair[0]} to {pair[1]}; give the '
                    'lower level first, or one level to hold it.')
    for less, more in (('min_file_size', 'max_file_size'),
                       ('min_block_size', 'max_block_size'),
                       ('max_block_size', 'max_file_size')):
        if more in levels and (max(map(parameters.number, levels[less]))
                               > min(map(parameters.number, levels[more]))):
            raise errors.InputError(
                f'{less} of {levels[less][-1]} and {more} of '
                f'{levels[more][0]} cannot go together, and a design tries '
                'all; give other --levels.')


def _refuse_small(place: JobTarget, levels: Mapping[str, tuple[str, ...]]
                  ) -> None:
    threads, block = (parameters.number(levels[name][-1]) for name in (
        'thread_count', 'max_block_size'))
    least = threads * max(2 ** 21, 4 * block)
    if not place.is_directory and place.size < least:
        raise errors.InputError(
            f'{place.path} is too small for {threads} threads: it takes '
            f'{parameters.size_text(least)}; give a larger one, or fewer '
            'threads by --levels thread_count=1.')
