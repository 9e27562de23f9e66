# SPDX-License-Identifier: Apache-2.0
"""The papers' own numbers, as they print them."""

import json
import pathlib

SERIFOS = json.loads(
    pathlib.Path(__file__).with_name('serifos.json').read_text())

SCREENING = json.loads(
    pathlib.Path(__file__).with_name('screening.json').read_text())

RELATIVE_FITNESS = json.loads(
    pathlib.Path(__file__).with_name('relative_fitness.json').read_text())

REGRESSION = json.loads(
    pathlib.Path(__file__).with_name('regression.json').read_text())

CUBIST = json.loads(
    pathlib.Path(__file__).with_name('cubist.json').read_text())

EARTH = json.loads(
    pathlib.Path(__file__).with_name('earth.json').read_text())

NEIGHBOURS = json.loads(
    pathlib.Path(__file__).with_name('neighbours.json').read_text())

TREES = json.loads(
    pathlib.Path(__file__).with_name('trees.json').read_text())
