# SPDX-License-Identifier: Apache-2.0
"""Section ``fit``: seconds of a fit of each kind, and its error."""

from __future__ import annotations

from collections.abc import Iterator
import time

from serifos.lab.sim import devices
from serifos.lab.sim import modeler
from serifos.model import fit
from serifos.model import kinds

_SSDS = (devices.SSD1, devices.SSD2)


def lines(quick: bool) -> Iterator[str]:
    """Lines of the section."""
    datasets = [modeler.dataset(ssd, modeler.Purpose.SHORT, modeler.training(
        modeler.Purpose.SHORT, 0), 0) for ssd in _SSDS[:1 if quick else None]]
    yield 'kind           runs   seconds  error of pools   of tenants'
    for kind in kinds.names():
        for dataset in datasets:
            begin = time.process_time()
            made = fit.fit(dataset, kind)
            seconds = time.process_time() - begin
            yield (f'{kind:14} {made.runs:4} {seconds:9.2f} '
                   f'{100 * made.quality["mre"]:13.1f} % '
                   f'{100 * made.quality["tenant_mre"]:10.1f} %')
    yield ('Seconds of one processor, of the fit and of those to the runs of '
           'each of ten parts less; errors on the runs left out.')
