# SPDX-License-Identifier: Apache-2.0
"""Whatever a program or a file says: what it means, or one sentence."""

import json
import math

from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import testtools

from serifos.bench import device
from serifos.bench import host
from serifos.bench import lsblk
from serifos.bench import offers
from serifos.bench import screen_journal as sj
from serifos import errors
from tests.unit.bench import hostile

NODE = {'name': 'sdb', 'kname': 'sdb', 'path': '/dev/sdb', 'maj:min': '8:16',
        'type': 'disk', 'size': 2 ** 30, 'ro': False, 'tran': 'sata',
        'model': 'M', 'serial': 'S', 'wwn': None, 'mountpoints': [None, '/x'],
        'log-sec': 512}
LSBLK = {'blockdevices': [{**NODE, 'children': [{**NODE, 'type': 'part'}]}]}
HEADER = {'schema': 'serifos-screening/1', 'device': {}, 'host': 'h',
          'kernel': 'k', 'fio': 'fio-3.33', 'runtime_s': 1.0,
          'varied': {'io_depth': ['1', '100']},
          'held': {'operation': 'read'}, 'said': ['x'],
          'created_at': '2026-01-01T00:00:00Z'}
RUN = {'levels': {'io_depth': '1', 'operation': 'read'}, 'round': 1,
       'bandwidth_kib_s': 1.0, 'iops': 1.0, 'latency_us': 1.0}

few = settings(max_examples=25, deadline=None)


class HostileTest(testtools.TestCase):

    def said(self, parse, text, kind=errors.ToolError):
        """What it says, or None where it is refused in one sentence."""
        try:
            return parse(text)
        except kind as exc:
            self.assertNotIn('\n', str(exc))
            self.assertLess(len(str(exc)), 1000)
            return None

    def test_what_is_mutated_can_be_read(self):
        self.assertTrue(lsblk.parse(json.dumps(LSBLK)))
        self.assertTrue(sj.parse(
            f'{json.dumps(HEADER)}\n{json.dumps(RUN)}\n', 'x'))

    @few
    @given(hostile.texts(LSBLK))
    def test_lsblk(self, text):
        for disk in self.said(lsblk.parse, text) or ():
            for node in disk.walk():
                found = device.find((disk,), node.number)
                device.refusal(found)
                self.assertTrue(found.facts)
                self.assertGreater(found.logical_block, 0)

    @few
    @given(hostile.texts({'oacs': 30, 'fna': 0, 'sanicap': 3},
                         {'flbas': 0, 'dps': 0}))
    def test_nvme(self, text):
        controller = self.said(lambda t: offers.fields(
            t, 'nvme', ('oacs', 'fna'), ('sanicap',)), text)
        namespace = self.said(lambda t: offers.fields(
            t, 'nvme', ('flbas', 'dps')), text)
        for how in offers.nvme('/dev/nvme0n1', controller or {
                'oacs': 2, 'fna': 0}, namespace or {
                    'flbas': 0, 'dps': 0}, 1).values():
            self.assertTrue(all(isinstance(word, str)
                                for words in how.commands for word in words))

    @few
    @given(st.one_of(st.text(), st.from_regex(
        r'Sanitize Status \(SSTAT\) :  (0x)?[0-9a-f٣]{1,5000}')))
    def test_texts_of_nvme_and_hdparm(self, text):
        state = self.said(offers.sanitize_state, text)
        self.assertIn(state, (None, *range(8)))
        for lines in (text, f'Security:\n\tsupported\n\t{text}',
                      f'Security:\n\tsupported\n\t{"9" * 5000}min for '
                      'SECURITY ERASE UNIT.'):
            self.said(lambda t: offers.ata('/dev/sdb', t), lines,
                      errors.DeviceError)

    @few
    @given(st.one_of(st.text(), st.lists(
        st.one_of(st.integers(), st.just('x')), max_size=10).map(
            lambda v: f'cpu {" ".join(map(str, v))}\nctxt 9\nintr 9 8')))
    def test_proc_stat(self, text):
        reading = self.said(lambda t: host.parse(t, 1.0), text)
        if reading is not None:
            self.assertTrue(math.isfinite(reading.towards(
                host.Reading(2.0, 1e6, 1e6, 1e6, 1e6), 1.5).busy))

    @few
    @given(hostile.texts(HEADER), hostile.texts(RUN))
    def test_a_journal_of_screening(self, header, run):
        good = json.dumps(HEADER)
        for text in (header, f'{header}\n', f'{good}\n{run}\n',
                     f'{header}\n{run}\n'):
            found = self.said(lambda t: sj.parse(t, 'x'), text,
                              errors.FormatError)
            if found is not None:
                header_, runs = found
                for name in header_.varied:
                    header_.space.middle(name)
                self.assertEqual([], header_.differences(header_))
                self.assertTrue(all(hash(one.key) for one in runs))
