# SPDX-License-Identifier: Apache-2.0
"""Logical volumes found in the answer of a node_exporter."""

import ddt
import hypothesis
from hypothesis import strategies
from prometheus_client import parser
import testtools

from serifos.telemetry import exporter
from tests.unit.telemetry import readings


def reading(text):
    return exporter.reading(7.0, exporter.parse(text.encode()))


@ddt.ddt
class ExporterTest(testtools.TestCase):

    def test_a_real_answer(self):
        found = reading(readings.REAL)
        self.assertIsNone(found.fault)
        self.assertEqual({}, found.faults)
        self.assertEqual({readings.FIRST, readings.SECOND}, set(found.volumes))
        self.assertEqual((169, 17, 19_984_384, 16_781_312, 0.62, 0.56),
                         found.volumes[readings.FIRST])
        self.assertEqual((7.0, 1795239754.0), (found.at, found.started))

    def test_what_lies_beneath_a_volume_is_not_the_volume(self):
        self.assertEqual(reading(readings.REAL),
                         reading(readings.REAL + readings.LAYERS))

    def test_without_device_mapper_it_says_what_is_needed(self):
        text = '\n'.join(line for line in readings.REAL.splitlines()
                         if exporter.INFO not in line)
        self.assertIn('/run/udev', reading(text).fault)
        self.assertEqual({}, reading(text).volumes)

    def test_a_host_with_lvs_of_its_own_only(self):
        text = '\n'.join(line for line in readings.REAL.splitlines()
                         if 'volume-' not in line) + '\n' + readings.LAYERS
        self.assertIsNone(reading(text).fault)
        self.assertEqual({}, reading(text).volumes)

    def test_a_host_without_volumes_is_seen_all_the_same(self):
        text = '\n'.join(line for line in readings.REAL.splitlines()
                         if 'dm-' not in line)
        self.assertIsNone(reading(text).fault)
        self.assertEqual({}, reading(text).volumes)

    @ddt.data(*exporter.COUNTERS)
    def test_a_missing_series_is_named(self, name):
        text = readings.REAL.replace(f'{name}{{device="dm-0"}}',
                                     f'{name}{{device="dm-99"}}')
        found = reading(text)
        self.assertEqual({readings.SECOND}, set(found.volumes))
        self.assertIn(f'no {name} of its device dm-0',
                      found.faults[readings.FIRST])

    def test_a_series_twice_is_said(self):
        found = reading(
            readings.REAL + 'node_disk_read_bytes_total{device="dm-0"} 5\n')
        self.assertIn('2 times', found.faults[readings.FIRST])

    def test_two_lvs_of_one_name_are_said_with_their_groups(self):
        found = reading(readings.text({'a': readings.steady(5)}) + (
            f'{exporter.INFO}{{device="dm-7",lv_name="volume-a",'
            'vg_name="vgb"} 1\n'))
        self.assertEqual({}, found.volumes)
        self.assertIn('in vga and vgb', found.faults['a'])

    @ddt.data('NaN', '+Inf', '-1', '9' * 400, '1e307', '2e19')
    def test_what_is_no_figure(self, value):
        found = reading(readings.REAL.replace(
            'node_disk_writes_completed_total{device="dm-0"} 17\n',
            f'node_disk_writes_completed_total{{device="dm-0"}} {value}\n'
        ))
        self.assertIn('is out of range', found.faults[readings.FIRST])
        self.assertEqual({readings.SECOND}, set(found.volumes))

    @ddt.data('', '<html><body>node_disk</body></html>', '{"a": 1}')
    def test_what_is_no_exposition_is_a_fault(self, text):
        self.assertIn('shows no', reading(text).fault)

    def test_a_line_cut_short(self):
        self.assertRaises(ValueError, exporter.parse,
                          b'node_disk_read_bytes_total{device="dm-0"\n')

    @ddt.data('NaN', '-Inf', '-1', '9' * 400, '1e307')
    def test_a_time_that_is_none_is_a_fault_of_the_host(self, value):
        for name in exporter.BOOTED, exporter.CLOCK:
            found = reading(
                readings.text({}).replace(f'{exporter.BOOTED} 1000.0',
                                          f'{name} {value}')
                + readings.REAL.replace(exporter.BOOTED, '#'))
            self.assertRegex(found.fault, f'its {name} .* is not a time')
            self.assertEqual({}, found.volumes)

    def test_two_boot_times_are_a_fault_of_the_host(self):
        self.assertIn('shows node_boot_time_seconds 2 times', reading(
            readings.REAL + f'{exporter.BOOTED} 5\n').fault)

    @ddt.data('volume-a\x1b[31m', 'volume-' + 'a' * 200, 'volume-../x',
              'volume-', 'volume-\\n')
    def test_what_lvm_cannot_name_is_no_lv(self, name):
        found = reading(readings.REAL + (
            f'{exporter.INFO}{{device="dm-9",lv_name="{name}"}} 1\n'))
        self.assertEqual(reading(readings.REAL).volumes, found.volumes)


class LineTest(testtools.TestCase):
    """A plain line is read without the parser, and says the same."""

    @hypothesis.settings(max_examples=100, deadline=None)
    @hypothesis.given(
        strategies.lists(strategies.tuples(
            strategies.sampled_from(('device', 'lv_name', 'le', 'a_1', 'A')),
            strategies.text('ab-1 _:+./\u00e9\\{}#,=')), max_size=4),
        strategies.from_regex(
            r'[0-9]{1,12}(\.[0-9]{1,9})?(e[+-]?[0-9]{1,3})?( [0-9]{1,5})?',
            fullmatch=True),
        strategies.sampled_from((' ', '  ', '\t')))
    def test_the_parser_agrees(self, labels, figure, space):
        text = ','.join(f'{name}="{value}"' for name, value in labels)
        line = f'node_disk_info{{{text}}}{space}{figure}\n'
        try:
            family, = parser.text_string_to_metric_families(line)
            expected, = family.samples
        except Exception:  # whatever it happens to raise
            self.assertRaises(ValueError, exporter.samples, line.encode(),
                              ['node_disk_info'])
            return
        found, = exporter.samples(line.encode(), ['node_disk_info'])
        self.assertEqual((expected.name, expected.labels, expected.value),
                         (found.name, found.labels, found.value))
