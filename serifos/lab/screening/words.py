# SPDX-License-Identifier: Apache-2.0
"""What the effects of a screening say, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from serifos.lab.screening import effects
from serifos.report import table
from serifos.report import wording

_HALF = 0.5


def explained(analysis: effects.Analysis, keys: Sequence[str],
              response: str) -> str:
    """What the key parameters explain of the response."""
    one = len(keys) == 1
    return (f'{", ".join(keys)} explain{"s" * one} '
            f'{_percent(_share(analysis, keys))} of the variation of '
            f'{response}; {"the " * one}key parameter{"s" * (not one)} to '
            'look at by --factorial.')


def beyond(analysis: effects.Analysis) -> str:
    """The parameters that are beyond the noise, and what else there is."""
    names = [e.name for e in analysis.effects if _is_beyond(e)]
    text = (f'Beyond the noise (p < 0.05, by {analysis.method}): '
            f'{", ".join(names) or "none"}. ')
    if analysis.rest is not None:
        return text + (f'{_percent(analysis.rest)} of the variation is due '
                       'to interactions and noise.')
    return text + (f'{unexplained(analysis)} --foldover, or more --runs, '
                   'leave some spare.')


def unexplained(analysis: effects.Analysis) -> str:
    """What is of none of the effects, where the design can tell."""
    if analysis.rest is not None:
        return (f'None of these explains {_percent(analysis.rest)} of the '
                'variation.')
    return ('No column of the design is spare, so that it cannot be told '
            'what none of these explains; noise makes about '
            f'{_percent(analysis.noise_share)} of the variation.')


def verdict(analysis: effects.Analysis, keys: Sequence[str]) -> str:
    """Which parameters matter, and whether the runs can tell."""
    one = len(keys) == 1
    share = _percent(_share(analysis, keys))
    doubt = _doubt(analysis, keys)
    if doubt is not None:
        return (f'Not decided: {doubt}. {", ".join(keys)} '
                f'{"explains" if one else "explain"} {share} of the '
                'variation.')
    return (
        f'{len(keys)} of {wording.count(len(analysis.effects), "parameter")} '
        f'matter{"s" * one} most: {", ".join(keys)}. '
        f'{"It explains" if one else "They explain"} {share} of the '
        'variation.')


def _doubt(analysis: effects.Analysis, keys: Sequence[str]) -> str | None:
    share, rest = _share(analysis, keys), analysis.rest
    if rest is not None and rest >= share:
        return (f'interactions and noise explain {_percent(rest)} of the '
                'variation, more than the key parameters')
    if analysis.noise_share >= min(share, _HALF):
        return (f'noise makes about {_percent(analysis.noise_share)} of the '
                'variation' + ', as much as the key parameters or more' * (
                    analysis.noise_share < _HALF))
    if not any(_is_beyond(e) for e in analysis.effects if e.name in keys):
        return 'none of the key parameters is beyond the noise (p < 0.05)'
    return None


def _is_beyond(effect: effects.Effect) -> bool:
    return effect.p_value < 0.05


def _share(analysis: effects.Analysis, keys: Sequence[str]) -> float:
    return sum(e.share for e in analysis.effects if e.name in keys)


def _percent(share: float) -> str | None:
    return table.percent(share, '.0f')
