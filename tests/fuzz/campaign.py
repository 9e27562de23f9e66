# SPDX-License-Identifier: Apache-2.0
"""The command that ``tools/fuzz`` runs: a process of atheris per target."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from concurrent import futures
import json
import logging
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time
from typing import Any
import warnings

_ROOT = pathlib.Path(__file__).parents[2]
_FOUND = _ROOT / '.fuzz'
_MOST_BYTES = 1 << 16
_SLOW = {'options': 0.05, 'scheduler_options': 0.05, 'arguments': 0.2,
         'cinder': 0.2, 'volumes': 0.2, 'watcher': 0.05, 'cluster': 0.5}
_OURS = 0.7  # of the mutations; the others are libFuzzer's own


def main() -> int:
    parser = argparse.ArgumentParser(
        prog='tools/fuzz', description='Feed the parsers of outside text.')
    parser.add_argument('targets', nargs='*', metavar='TARGET')
    parser.add_argument('--runs', type=int, default=1_000_000, metavar='N',
                        help='inputs in all (default: 1000000)')
    parser.add_argument('--jobs', type=int, default=os.cpu_count() or 1,
                        metavar='N', help='processes (default: one a core)')
    parser.add_argument('--list', action='store_true')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--child', help=argparse.SUPPRESS)
    args = parser.parse_args()
    logging.disable()
    warnings.simplefilter('ignore')
    if args.child:
        return _child(args.child, args.runs, args.seed)
    from tests.fuzz import targets
    if args.list:
        print('\n'.join(targets.TARGETS))
        return 0
    if len(args.targets) == 2 and pathlib.Path(args.targets[1]).is_file():
        return _again(*args.targets)
    unknown = [n for n in args.targets if n not in targets.TARGETS]
    if unknown or args.runs < 1:
        parser.error(f'there is no target {unknown[0]}' if unknown else
                     '--runs must be 1 or more')
    return _all(args.targets or list(targets.TARGETS), args)


def _again(name: str, path: str) -> int:
    """One input, with its traceback."""
    from tests.fuzz import targets
    try:
        targets.TARGETS[name](pathlib.Path(path).read_bytes())
    except targets.FINE as exc:
        print(f'Refused, as it should be: {exc}')
    return 0


def _all(names: list[str], args: argparse.Namespace) -> int:
    runs = _shares(names, args.runs)
    width = max(map(len, names))
    _row(width, 'target', 'inputs', 'tracebacks', 'hangs', 'seconds')
    total = [0, 0, 0, 0.0]
    with futures.ThreadPoolExecutor(args.jobs) as pool:
        for name, found, seconds in pool.map(
                lambda name: _one(name, runs[name], args.seed), names):
            figures = [found['inputs'], len(found['tracebacks']),
                       found['hangs'], seconds]
            total = [a + b for a, b in zip(total, figures)]
            _row(width, name, *_shown(figures))
            for place, times in found['tracebacks'].items():
                print(f'    {place}, {times} times', flush=True)
    _row(width, 'total', *_shown(total))
    if total[1] or total[2]:
        print(f'What was found is in {_FOUND}.')
    return int(bool(total[1] or total[2] or total[0] < args.runs))


def _shares(names: list[str], runs: int) -> dict[str, int]:
    """Inputs of each target; one that is slow gets fewer."""
    weights = {name: _SLOW.get(name, 1.0) for name in names}
    total = sum(weights.values())
    return {name: math.ceil(runs * weight / total)
            for name, weight in weights.items()}


def _shown(figures: Iterable[float]) -> list[str]:
    return [f'{figure:,.0f}' for figure in figures]


def _row(width: int, name: str, *figures: str) -> None:
    print(f'{name:{width}}  ' + '  '.join(
        f'{figure:>10}' for figure in figures), flush=True)


def _one(name: str, runs: int,
         seed: int) -> tuple[str, dict[str, Any], float]:
    """What a process of its own found; that it died is a finding."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, '-m', 'tests.fuzz.campaign', '--child', name,
         '--runs', str(runs), '--seed', str(seed)], cwd=_ROOT,
        stdin=subprocess.DEVNULL, capture_output=True, text=True,
        errors='replace')
    seconds = time.monotonic() - began
    try:
        return name, json.loads(done.stdout.splitlines()[-1]), seconds
    except (ValueError, IndexError):
        words = ' '.join(done.stderr.split())[-300:]
        return name, {'inputs': 0, 'hangs': 0, 'tracebacks': {
            f'died with {done.returncode}: {words}': 1}}, seconds


def _child(name: str, runs: int, seed: int) -> int:
    import atheris
    with atheris.instrument_imports(include=['serifos']):
        from tests.fuzz import files
        from tests.fuzz import mutation
        from tests.fuzz import watch
    watched = watch.Watch(name, _FOUND / name)
    out = os.dup(1)
    os.dup2(2, 1)  # what a target prints is no result

    def one(data: bytes) -> None:
        watched(data)
        if watched.inputs >= runs:
            files.clean()
            os.write(out, json.dumps(watched.to_json()).encode() + b'\n')
            os._exit(0)  # libFuzzer has no other end that runs nothing more

    def mutate(data: bytes, most: int, number: int) -> bytes:
        chance = random.Random(number)
        if chance.random() < _OURS:
            return mutation.mutated(data, chance)[:most]
        return atheris.Mutate(data, most)
    with tempfile.TemporaryDirectory() as corpus:
        atheris.Setup(
            [name, f'-seed={seed}', f'-max_len={_MOST_BYTES}',
             '-len_control=0', '-timeout=0', '-handle_alrm=0',
             '-rss_limit_mb=0', '-verbosity=0', corpus,
             str(files.CORPUS / name)], one, custom_mutator=mutate)
        atheris.Fuzz()
    return 0


if __name__ == '__main__':
    sys.exit(main())
