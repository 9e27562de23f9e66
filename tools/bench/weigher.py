# SPDX-License-Identifier: Apache-2.0
"""Section ``weigher``: the scheduler's cost, in the Cinder that is here."""

from __future__ import annotations

from collections.abc import Iterator
import dataclasses
import pathlib
import subprocess
import tempfile

from serifos.files import documents
from serifos.lab.sim import devices
from serifos.lab.sim import modeler
from serifos.model import kinds

ROOT = pathlib.Path(__file__).parents[2]


def lines(quick: bool) -> Iterator[str]:
    """Lines of the section."""
    found = sorted(ROOT.glob('.venv-cinder*/bin/python'))
    if not found:
        yield 'There is no Cinder here; run tools/test cinder first.'
        return
    yield f'In {found[-1].parents[1].name}:'
    with tempfile.TemporaryDirectory() as models:
        fit_all(pathlib.Path(models))
        yield from subprocess.run(
            [found[-1], pathlib.Path(__file__).with_name('in_cinder.py'),
             *['--quick'] * quick, models], check=True,
            stdout=subprocess.PIPE, text=True).stdout.splitlines()


def fit_all(directory: pathlib.Path) -> None:
    """A model of each kind of a simulated device, for up to ten tenants.

    Their range is widened to depths that the runs did not have.
    """
    job, = modeler.jobs(devices.SSD1, modeler.Purpose.TEST,
                        modeler.tests(0, 20, 60), 0, size=1000)
    runs = modeler.measure(job)
    for kind in kinds.names():
        model = modeler.built(kind, devices.SSD1, runs)
        documents.write_model(directory / f'{kind}.json', dataclasses.replace(
            model, name=kind, range={
                **model.range, 'write_pct': (0, 100), 'iodepth': (0, 64),
                'block_kib': (1, 256)}))
