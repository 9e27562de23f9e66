# SPDX-License-Identifier: Apache-2.0
"""The Prometheus text format, valid and not."""

import ddt
import fixtures
import hypothesis
from hypothesis import strategies
import testtools

from serifos.telemetry import counters
from serifos.telemetry import exporter
from tests.unit.telemetry import readings

NAME = 'node_disk_reads_completed_total'
VALUES = strategies.text(strategies.characters(exclude_categories=['Cs']))


def samples(*lines):
    return [(s.name, s.labels, s.value)
            for s in exporter.samples(
                '\n'.join(lines).encode(), exporter.NAMES)]


def quoted(text):
    return text.replace('\\', r'\\').replace('\n', r'\n').replace('"', r'\"')


@ddt.ddt
class ExpositionTest(testtools.TestCase):

    @ddt.data(
        (f'{NAME} 1', {}), (f'{NAME}{{}} 1', {}), (f'{NAME}\t1e0\r', {}),
        (f'{NAME}{{device="sda"}} 1', {'device': 'sda'}),
        (f'{NAME} {{ device = "sda" , }} 1 1795239754000',
         {'device': 'sda'}),
        (f'{NAME}{{a="}}",b="{{ 2",device="s,d=a"}}1',
         {'a': '}', 'b': '{ 2', 'device': 's,d=a'}),
        (f'{NAME}{{device="a\\"b\\\\n\\nc"}} +1.0',
         {'device': 'a"b\\n\nc'}))
    @ddt.unpack
    def test_a_line(self, line, labels):
        self.assertEqual([(NAME, labels, 1.0)], samples(line))

    @ddt.data(
        NAME, f'{NAME} x', f'{NAME}{{device="sda" 1',
        f'{NAME}{{device=sda}} 1', f'{NAME}{{device="a",device="b"}} 1',
        f'{NAME}{{device="a"b="c"}} 1', f'{NAME}{{device="a\\"}} 1',
        f'{NAME}-x 1',
        f'{NAME}{{1="a"}} 1', f'{NAME}{{device="a"}}')
    def test_what_is_no_sample(self, line):
        error = self.assertRaises(ValueError, samples, line)
        self.assertIn('is not a sample', str(error))

    def test_what_is_not_wanted_may_be_anything(self):
        self.assertEqual([(NAME, {}, 1.0)], samples(
            '# HELP x', 'x' * 10_000, f' {NAME} 7', 'node_disk_x{', '{{{',
            f'{NAME}_more 3', f'{NAME} 1', '\0'))

    def test_ten_million_pairs_of_labels(self):
        error = self.assertRaises(
            ValueError, samples, f'{NAME}{{{"a=1," * 10 ** 7}}} 1')
        self.assertIn('a line of 4000', str(error))

    def test_lines_without_an_end(self):
        self.useFixture(fixtures.MonkeyPatch(
            'serifos.telemetry.exporter.MOST_LINES', 9))
        self.assertEqual(9, len(samples(*[f'{NAME} 1'] * 9)))
        error = self.assertRaises(ValueError, samples, *[f'{NAME} 1'] * 10)
        self.assertIn('more than 9 lines', str(error))

    @hypothesis.given(strategies.dictionaries(
        strategies.from_regex(
            r'_?[a-zA-Z]\w*', fullmatch=True,
            alphabet=strategies.characters(codec='ascii')),
        VALUES, max_size=4), strategies.floats())
    def test_what_is_written_is_read(self, labels, value):
        line = ','.join(f'{name}="{quoted(text)}"'
                        for name, text in labels.items())
        (_, found, figure), = samples(f'{NAME}{{{line}}} {value!r}')
        self.assertEqual((labels, repr(value)), (found, repr(figure)))

    @hypothesis.given(strategies.one_of(
        strategies.binary(), strategies.lists(strategies.one_of(
            strategies.sampled_from(readings.REAL.splitlines()),
            strategies.builds(lambda name, rest: name + rest,
                              strategies.sampled_from(exporter.NAMES),
                              strategies.text(strategies.sampled_from(
                                  '{}",=\\ \n1eadm-NI+:x'))))
        ).map(lambda lines: '\n'.join(lines).encode())))
    def test_any_bytes_are_a_reading_or_no_exposition(self, data):
        try:
            parsed = exporter.parse(data)
        except ValueError:
            return
        found = exporter.reading(7.0, parsed)
        self.assertTrue(all(c.are_sane for c in found.volumes.values()))
        self.assertTrue(found.started is None
                        or counters.is_time(found.started))
