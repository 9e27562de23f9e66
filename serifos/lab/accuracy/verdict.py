# SPDX-License-Identifier: Apache-2.0
"""What the model that a build makes is good for, in one paragraph."""

from __future__ import annotations

import numpy as np

from serifos.lab.accuracy import accuracy
from serifos.lab.accuracy import groups
from serifos.lab.accuracy import runs
from serifos.model.verdict import GOOD
from serifos.model.verdict import headline
from serifos.model.verdict import percent
from serifos.report import wording


def verdict(scores: groups.Scores) -> str:
    """What a build's model is good for on the paper's tests.

    Of the runs that a build chooses, where they were tried; of the kind that
    it chooses, where that was, else of the best.
    """
    known = [s for s in scores if s.expected is not None]
    labels = groups.names(known, 'design')
    if not labels:
        return 'No kind could be fitted.'
    label = runs.CHOSEN if runs.CHOSEN in labels else labels[-1]
    mean = {kind: float(np.mean([s.errors['paper'] for s in its]))
            for (kind, of), its in groups.by_kind(known).items()
            if of == label}
    best = min(mean, key=mean.__getitem__)
    kind = accuracy.AUTO if accuracy.AUTO in mean else best
    its = groups.by_kind(known)[kind, label]
    good = sum(s.errors['paper'] <= GOOD for s in its)
    return (f'Kind {kind} is {headline(mean[kind])} in the mean over '
            f'{wording.count(len(its), "device")}, fitted to '
            f'{groups.described(label)}; it is good enough on {good} of them.'
            + ('' if best == kind else f' The best kind is {best}: '
               f'{percent(mean[best])}.'))
