# SPDX-License-Identifier: Apache-2.0
"""The figures of evaluation.rst are those that its commands print."""

import json
import pathlib
import re
import shlex

import testtools

from serifos.lab.sim import paper
from tests.unit.cmd import command

ROOT = pathlib.Path(__file__).parents[2]
PAGE = (ROOT / 'doc/source/reference/evaluation.rst').read_text()

NEAR = 1.5
"""Percent points, tenths of a move, percent of the GiB: another processor
rounds sums differently, by which a move of a case or two may be another."""

SSD = ROOT / 'serifos/lab/sim/ssd.jsonl'


def tables():
    """Each table of the page: rows of cells, the header first."""
    for text in re.findall(r'\.\. list-table::\n(?: .*\n|\n(?= ))*', PAGE):
        yield [[cell.strip() for cell in re.split(r'^ {5}- ?', row,
                                                  flags=re.M)]
               for row in re.split(r'^   \* - ?', text, flags=re.M)[1:]]


def rows(*header):
    """The rows of the first table that begins so, its left column full."""
    table = next(table for table in tables()
                 if tuple(table[0][:len(header)]) == header)
    left = ''
    for row in table[1:]:
        left = row[0] or left
        yield left, *row[1:]


def numbers(cells):
    return [float(number.replace(',', '')) for cell in cells
            for number in re.findall(r'[-+]?[\d.,]+', cell)]


def planner_of(cell):
    return cell.strip('`').replace('Algorithm 1', 'algorithm1')


def printed(start, *more):
    """What the command prints that stands in the page and begins so."""
    shown = next(text for text in (
        ' '.join(words.split()) for words in re.findall(r'``([^`]+)``', PAGE))
        if text.startswith(f'serifos-sim {start}'))
    code, out, err = command.simulate(
        *shlex.split(shown)[1:], *more, '--jobs', '1', '-f', 'json')
    if code:
        raise AssertionError(err)
    return json.loads(out)


class EvaluationPageTest(testtools.TestCase):

    def near(self, shown, found, scale=1.0):
        self.assertEqual(len(shown), len(found))
        for one, other in zip(shown, found):
            self.assertLessEqual(abs(one - other), NEAR * scale,
                                 (shown, found))

    def changes(self, result, *names):
        return [-100 * result['reduction'][name] for name in names]

    def test_what_balancing_brings(self):
        found = {(one['testbed'], one['planner']): one for one in printed(
            'evaluate --kind outstanding')['balancing']}
        held = 0
        for testbed, planner, *cells in rows('testbed', 'planner'):
            if planner == 'the paper':
                continue
            one = found[testbed.strip('`'), planner_of(planner)]
            self.near(numbers(cells[:4]), self.changes(
                one, 'variance_us2', 'mean_max_us', 'tenants_us',
                'worst_tenant_us'))
            *worse, moves, gib = numbers(cells[4:])
            self.near(worse, [one['cases_worse'], one['tenants_worse']])
            self.near([moves], [one['moves']], 0.1)
            self.near([gib], [one['moved_gib']], 0.01 * gib)
            held += 1
        self.assertEqual(6, held)

    def test_99th_percentiles(self):
        """Those with the tails of the SSD, planned by the mean."""
        found = {one['planner']: one for one in printed(
            'evaluate --truth paper --kind consolidation', '--tails', SSD
        )['balancing']}
        names = ('variance_us2', 'p99_read_variance_us2',
                 'p99_write_variance_us2', 'slo_us', 'slo_read_us',
                 'slo_write_us')
        held = 0
        for planned, planner, *cells in rows('planned by', 'planner'):
            if planned == 'the paper':
                self.near(numbers(cells), [
                    -100 * paper.REDUCTION[name] for name in names])
            elif planned == 'mean':
                self.near(numbers(cells)[1::2], self.changes(
                    found[planner_of(planner)], *names))
                held += 1
        self.assertEqual(4, held)
