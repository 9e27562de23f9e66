# SPDX-License-Identifier: Apache-2.0
"""Speed and memory of planners and of the history, and the scheduler's cost.

    .venv/bin/python tools/bench [--quick] [SECTION ...]

Sections: ``speed`` plans random clusters of four sizes, each in a process
of its own, beside plain-Python transcriptions of the paper's Algorithm 1,
one pass as printed and passes by our rule for a single move, by one figure a
volume and by 24 slots of a day, and fits how the time grows;
``optimum`` holds small plans against the least possible worst latency,
found by HiGHS; ``annealing`` holds plans for 200 pools against a minute of
simulated annealing by as many moves and GiB; ``fit`` times the fit of each
kind to 80 runs; ``weigher`` holds SerifosWeigher and SerifosScheduler against
CapacityWeigher in a real Cinder, the newest that ``tools/test cinder``
installed; ``history`` writes rounds and a day of up to 100,000 volumes and
reads that day, beside JSON lines, with up to 1.6 GiB in /var/tmp; ``bonds``
binds ever larger groups of volumes that are to be kept apart, or together,
and holds each against one of half the size; ``regression`` holds trees, alone
and twenty together, against Cubist on eight sets of runs, and ``mars`` splines
against R's earth; ``plans`` stores and reads plans of up to 100,000 volumes
in SQLite, and lists them; ``process`` runs whole commands, each beside
``python -c 'import numpy'`` and ``openstack --help`` where that is installed;
``rounds`` makes whole rounds of ``serifos-balancer run`` with a day of
history, with up to 1.2 GiB in /var/tmp; ``telemetry`` takes readings of up to
1,000 hosts and observes them, beside the parser of prometheus_client;
``prometheus`` asks a real Prometheus, where one is installed, for a day of
up to 6,000 volumes, with up to 1 GiB in /var/tmp;
``reach`` tells how far ever thinner benchmarks of ``coverage`` seem
to reach; ``truth`` tells what moves bring that are chosen by simulated devices
themselves, without a model. Without a section it runs them all, in an hour.
The models are those of the paper's Table 6, and of kind tenant those of the
same devices as simulated; the volumes are those of its Eq. 17-19. For
``speed`` their patterns are blurred, since measured ones are never alike.
"""

from __future__ import annotations

import argparse

import annealing
import bonds
import fits
import history
import mars
import optimum
import plans
import process
import prometheus
import reach
import regression
import rounds
import speed
import telemetry
import truth
import weigher

SECTIONS = {'speed': speed.lines, 'optimum': optimum.lines,
            'annealing': annealing.lines, 'fit': fits.lines,
            'weigher': weigher.lines, 'history': history.lines,
            'bonds': bonds.lines, 'regression': regression.lines,
            'mars': mars.lines, 'plans': plans.lines, 'process': process.lines,
            'prometheus': prometheus.lines,
            'reach': reach.lines, 'rounds': rounds.lines,
            'telemetry': telemetry.lines, 'truth': truth.lines}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('section', nargs='*', metavar='SECTION',
                        help=f'{", ".join(SECTIONS)} (default: all)')
    parser.add_argument('--quick', action='store_true',
                        help='smaller sizes, fewer cases: about a minute')
    options = parser.parse_args()
    unknown = set(options.section) - set(SECTIONS)
    if unknown:
        parser.error(f'there is no section {sorted(unknown)[0]}; there are '
                     f'{", ".join(SECTIONS)}')
    for name in options.section or SECTIONS:
        print(f'== {name}', flush=True)
        for line in SECTIONS[name](options.quick):
            print(line, flush=True)


if __name__ == '__main__':
    main()
