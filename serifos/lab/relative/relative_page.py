# SPDX-License-Identifier: Apache-2.0
"""The page of devices that are related, with the figures of the paper.

Tables 3 to 8 and Figures 2 to 6 of Mesnier et al. [1]_ for the runs of
some datasets.

.. [1] Mesnier, Wachs, Ganger: Modeling the relative fitness of storage
   devices.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence

import numpy as np

from serifos.lab.relative import common
from serifos.lab.relative import relative
from serifos.report import charts
from serifos.report import measured
from serifos.report import page
from serifos.report import table

_Found = Sequence[relative.Predicted]

LABELS = {
    'inter_arrival_us': 'time between requests, ms',
    'write_pct': 'writes, %', 'write_kib': 'size of writes, KiB',
    'read_kib': 'size of reads, KiB', 'random_pct': 'random requests, %',
    'latency_us': 'latency, ms', 'iops': 'IOPS',
    'bandwidth_kib_s': 'bandwidth, MiB/s', 'outstanding': 'outstanding',
    'cpu_pct': 'CPU, %', 'context_switches_per_s': 'context switches / s',
    'interrupts_per_s': 'interrupts / s'}
"""Of the characteristics and observations, in the paper's order."""

_UNITS = {'inter_arrival_us': 1e3, 'latency_us': 1e3,
          'bandwidth_kib_s': 1024.0}
_WAYS = (('CM', common.WC), ('ARF', common.BOTH), ('SRF', common.BOTH))
"""Each technique with the inputs by which the paper judges it."""

_NAMES = {'CM': 'the conventional model of the other device',
          'ARF': 'absolute relative fitness',
          'SRF': 'scaled relative fitness'}
_COLOURS = (charts.RED, charts.BROWN, charts.BLUE)  # of the ways
_ALIKE = 0.01  # errors that differ by less are no difference


def page_of(devices: common.Devices, found: _Found,
            tested: _Found = ()) -> str:
    """The HTML page.

    :param found: as :func:`.relative.evaluate` gives it
    :param tested: as :func:`.relative.unseen` gives it
    :raises ToolError: where matplotlib or Jinja2 is missing
    """
    columns = [*map(_in_units, devices.columns)]
    sections = [
        page.Section(
            'Errors', 'Median relative errors: CM reads the characteristics '
            'of the workload, as a model of one device does; ARF and SRF '
            'also what was observed of it (Tables 6 to 8 of the paper). The '
            'trees of one half of the runs predict the other.', tables=[
                _errors(relative.groups(found))]),
        *([_test(tested)] if tested else []),
        page.Section(
            'The same runs on each device',
            'The share of the runs at or below a value (Figure 2). Where '
            'lines part, the workload itself is another one on the other '
            'device.', _distributions(devices.names, columns), [
                _changes(columns)]),
        page.Section('Their means on each device', tables=[
            _summary(devices, columns)], folded=True),
        page.Section(
            'Predicted distributions',
            f'Of the runs on {devices.names[1]}, predicted from what was '
            f'measured on {devices.names[0]} (Figure 5).', [_predictions(
                [one for one in found if (one.source, one.target)
                 == devices.names[:2]])]),
        page.Section(
            'Two short trees',
            f'What the IOPS on {devices.names[1]} depend on most, as '
            f'{devices.names[0]} shows it (Figures 3 and 4). The trees that '
            'predict are deeper.', tables=[*_trees(devices)]),
        page.Section('The datasets', tables=[table.Table(
            ('dataset', 'device', 'measured'),
            [(name, measured.device_of(header.device),
              measured.place_of(header.host, header.created_at))
             for name, header in zip(devices.names, devices.headers)])])]
    return page.render(
        f'Relative fitness of {", ".join(devices.names)}',
        f'{devices.runs} runs that were made on all of them.', sections,
        verdict=verdict(found, tested))


def verdict(found: _Found, tested: _Found = ()) -> str:
    """The best technique to predict another device, and its error."""
    errors = relative.overall(found)
    best = min(errors, key=errors.__getitem__)
    sentence = ' '.join((
        f'From one device to another {_NAMES[best[0]]} ({_said(best)}) '
        f'predicts best: {100 * errors[best]:.1f} % median error, where '
        f'{_NAMES["CM"]} has {100 * errors[_WAYS[0]]:.1f} %.',
        'The workload changes with the device, so measure it on both.'
        if errors[best] < errors[_WAYS[0]] - _ALIKE else
        'Relating the devices gains nothing here.'))
    if not tested:
        return sentence
    iops = relative.mean([one.means for one in tested
                          if one.figure == 'iops'])
    return (f'{sentence} On runs of the other sort the IOPS are off by ' + ', '
            .join(f'{100 * iops[way]:.1f} % ({way[0]})' for way in _WAYS)
            + ' in the mean.')


def _said(way: relative.Way) -> str:
    return f'{way[0]} of {way[1]}'


def _in_units(columns: Mapping[str, common.Floats]
              ) -> dict[str, common.Floats]:
    """The figures of the runs in the units and order of the page."""
    return {name: columns[name] / _UNITS.get(name, 1.0)
            for name in LABELS if name in columns}


def _errors(groups: Iterator[relative.Group]) -> table.Table:
    return table.Table(
        ('table', 'of', *map(_said, _WAYS), 'SRF of SO'),
        [(name, of, *(table.percent(its[way])
                      for way in (*_WAYS, ('SRF', common.SO))))
         for name, of, its in groups])


def _distributions(names: Sequence[str],
                   columns: Sequence[Mapping[str, common.Floats]]
                   ) -> list[str]:
    """Figure 2: shares in percent, and all else on a logarithmic scale."""
    return [charts.grid(
        {LABELS[name]: [
            charts.cumulative(np.maximum(own[name], least), device, color=(
                charts.SERIES[i % len(charts.SERIES)]))
            for i, (device, own) in enumerate(zip(names, columns))]
         for name in columns[0] if name.endswith('_pct') == shares},
        ylabel='share of the runs', sharex=False, level=None,
        xscale=scale, ylim=(0, 1.02))
        for shares, scale, least in ((False, 'log', 1e-3),
                                     (True, 'linear', 0.0))]


def _changes(columns: Sequence[Mapping[str, common.Floats]]) -> table.Table:
    """Table 4."""
    return table.Table(
        ('characteristic or observation', 'change'),
        [(LABELS[name], table.percent(float(common.variation(np.array(
            [own[name] for own in columns])).mean()), '.0f'))
         for name in columns[0]],
        'How much each changes with the device: standard deviation over '
        'mean, of each run over the devices, in the mean (Table 4).')


def _summary(devices: common.Devices,
             columns: Sequence[Mapping[str, common.Floats]]) -> table.Table:
    """Table 3; sizes of the runs that have such requests."""
    rows = []
    for device, own, spread in zip(devices.names, columns, devices.spreads):
        for name, values in own.items():
            some = values[values > 0] if name.endswith('_kib') else values
            rows.append((device, LABELS[name], table.percent(
                spread.get(name), '.2f'), *(
                    float(how(some)) if len(some) else None for how in (
                        np.min, np.median, _ninth, np.max, np.mean))))
    return table.Table(
        ('device', 'characteristic or observation', 'between rounds', 'min',
         'median', '90 %', 'max', 'mean'), rows,
        'The runs on each device (Table 3), and how much a run that was '
        'made again differs: standard deviation over mean.')


def _ninth(values: common.Floats) -> float:
    return float(np.quantile(values, 0.9))


def _predictions(found: _Found) -> str:
    return charts.grid(
        {LABELS[one.figure]: [
            charts.cumulative(values / _UNITS.get(one.figure, 1.0), label,
                              color=colour, lw=width)
            for label, values, colour, width in (
                *((_said(way), one.by[way], colour, 1.2)
                  for way, colour in zip(_WAYS, _COLOURS)),
                ('measured', one.measured, charts.INK, 2))]
         for one in found}, ylabel='share of the runs', sharex=False,
        level=None, xscale='log', ylim=(0, 1.02))


def _trees(devices: common.Devices) -> Iterator[table.Table]:
    """Figures 3 and 4, of the paper's depths."""
    first, second = devices.names[:2]
    for scaled, depth, what, figure in (
            (False, 3, f'IOPS on {second}', 'absolute (ARF), Figure 3'),
            (True, 2, f'IOPS on {second} over those on {first}',
             'scaled (SRF), Figure 4')):
        tree = relative.pruned(devices, 0, 1, 'iops', scaled, depth)
        yield table.Table(
            (f'where {first} shows', what),
            [(where, float(value)) for where, value in relative.leaves(tree)],
            f'{what}, {figure}.')


def _test(tested: _Found) -> page.Section:
    """Figure 6, of the first device to the second."""
    one = next(one for one in tested if one.figure == 'iops')
    order = np.argsort(one.measured)
    runs = np.arange(1, len(order) + 1)
    lines = (
        (f'seen on {one.source}', one.seen, charts.GREY, 1.2),
        *((_said(way), one.by[way], colour, 1.2)
          for way, colour in zip(_WAYS, _COLOURS)),
        (f'measured on {one.target}', one.measured, charts.INK, 2))
    return page.Section(
        'Another sort of workload',
        'Runs unlike those that the trees were fitted on (section 6.2 and '
        f'Figure 6): mean relative errors, and the IOPS from {one.source} '
        f'to {one.target}.', [charts.points(
            [charts.Series(runs, values[order], '-', label,
                           look={'color': colour, 'lw': width})
             for label, values, colour, width in lines],
            size_in=(9, 4.5), yscale='log', ylabel='IOPS',
            xlabel='run, from the slowest')],
        [_errors(relative.tested(tested))])
