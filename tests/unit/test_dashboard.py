# SPDX-License-Identifier: Apache-2.0
"""Grafana's own types of a dashboard know all that ours says."""

import json
import pathlib

from grafana_foundation_sdk.cog import encoder
from grafana_foundation_sdk.models import dashboard
import testtools

FILE = (pathlib.Path(__file__).parents[2]
        / 'etc/serifos/grafana/serifos-dashboard.json')


def unknown(ours, theirs, where=''):
    """What of ours is missing in theirs, or another value there."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return [each for name, value in ours.items() for each in (
            unknown(value, theirs[name], f'{where}/{name}')
            if name in theirs else [f'{where}/{name}'])]
    if isinstance(ours, list) and isinstance(theirs, list) and (
            len(ours) == len(theirs)):
        return [each for i, pair in enumerate(zip(ours, theirs))
                for each in unknown(*pair, f'{where}/{i}')]
    return [] if ours == theirs else [where]


def understood(document):
    """A dashboard as Grafana's types read and write it."""
    return json.loads(encoder.JSONEncoder().encode(
        dashboard.Dashboard.from_json(document)))


class DashboardTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.document = json.loads(FILE.read_text())

    def test_all_of_it_is_understood(self):
        self.assertEqual([], unknown(
            self.document, understood(self.document)))

    def test_a_misspelt_word_would_be_found(self):
        panel = self.document['panels'][0]
        panel['titel'] = panel.pop('title')
        self.assertEqual(['/panels/0/titel'], unknown(
            self.document, understood(self.document)))

    def test_each_panel_has_a_place_of_its_own(self):
        taken = set()
        for panel in self.document['panels']:
            at = panel['gridPos']
            its = {(x, y) for x in range(at['x'], at['x'] + at['w'])
                   for y in range(at['y'], at['y'] + at['h'])}
            self.assertLessEqual(at['x'] + at['w'], 24, panel['title'])
            self.assertEqual(set(), its & taken, panel['title'])
            taken |= its
