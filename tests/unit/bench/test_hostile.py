# SPDX-License-Identifier: Apache-2.0
"""Unexpected output of programs and files: parsed, or one sentence."""

import json
import math

from hypothesis import given
from hypothesis import settings
from hypothesis import strategies
import testtools

from serifos.bench import device
from serifos.bench import fio_result
from serifos.bench import host
from serifos.bench import in_use
from serifos.bench import lsblk
from serifos.bench import lvm
from serifos.bench import precondition
from serifos.bench import purge
from serifos.bench import scratch
from serifos import errors
from serifos.lab.screening import journal
from tests.unit.bench import hostile

NODE = {'name': 'sdb', 'kname': 'sdb', 'path': '/dev/sdb', 'maj:min': '8:16',
        'type': 'disk', 'size': 2 ** 30, 'ro': False, 'tran': 'sata',
        'model': 'M', 'serial': 'S', 'wwn': None, 'mountpoints': [None, '/x'],
        'log-sec': 512}
LSBLK = {'blockdevices': [{**NODE, 'children': [{**NODE, 'type': 'part'}]}]}
SIDE = {'iops': 9.5, 'bw': 9, 'io_bytes': 4096, 'lat_ns': {
    'N': 9, 'mean': 9.5, 'percentile': {'99.000000': 9}}}
FIO = {'timestamp_ms': 1, 'jobs': [{'error': 0, 'read': SIDE, 'write': SIDE}]}
GROUP = {'vg_name': 'g', 'vg_uuid': 'u', 'vg_size': '9', 'vg_free': '9',
         'vg_extent_size': '3', 'pv_name': '/dev/sdb'}
VGS = {'report': [{'vg': [GROUP]}]}
LVS = {'report': [{'lv': [{'lv_name': 'serifos-scratch-0',
                           'lv_tags': 'serifos-scratch'}]}]}
RECORD = {'schema': 'serifos-precondition/1', 'identity': {'model': 'M'},
          'purge': 'discard', 'written': 9, 'iops': [9.5, 9]}
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
        for parse, doc in (
                (lsblk.parse, LSBLK), (fio_result.parse, FIO),
                (lvm.parse, VGS), (lvm.ours, LVS),
                (precondition.parse, RECORD)):
            self.assertTrue(parse(json.dumps(doc)))
        self.assertTrue(journal.parse(
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
    @given(hostile.texts(FIO))
    def test_fio(self, text):
        figures = self.said(fio_result.parse, text, fio_result.FioError)
        for value in (figures or {}).values():
            self.assertTrue(value is None or math.isfinite(value))
        written = self.said(fio_result.written, text, fio_result.FioError)
        self.assertTrue(written is None or written >= 0)

    @few
    @given(hostile.texts(VGS, LVS))
    def test_lvm(self, text):
        group = self.said(lvm.parse, text)
        if group is not None:
            self.said(lambda _: lvm.refuse_if_small(group, 1, 2 ** 30), '',
                      errors.DeviceError)
        for name in self.said(lvm.ours, text) or ():
            self.assertRegex(name, '^serifos-scratch-[0-9]+$')

    @few
    @given(hostile.texts(
        {'filesystems': [{'source': '/dev/sdb', 'fstype': 'ext4'}]},
        {'signatures': [{'type': 'ext4', 'offset': '0x438'}]}))
    def test_findmnt_and_wipefs(self, text):
        self.said(scratch.parse_mounted, text)
        for name in self.said(in_use.signatures, text) or ():
            self.assertIsInstance(name, str)

    @few
    @given(hostile.texts({'oacs': 30, 'fna': 0, 'sanicap': 3},
                         {'flbas': 0, 'dps': 0}))
    def test_nvme(self, text):
        controller = self.said(lambda t: purge.bit_fields(
            t, 'nvme', ('oacs', 'fna'), ('sanicap',)), text)
        namespace = self.said(lambda t: purge.bit_fields(
            t, 'nvme', ('flbas', 'dps')), text)
        for how in purge.nvme('/dev/nvme0n1', controller or {
                'oacs': 2, 'fna': 0}, namespace or {
                    'flbas': 0, 'dps': 0}, 1).values():
            self.assertTrue(all(isinstance(word, str)
                                for words in how.commands for word in words))

    @few
    @given(strategies.one_of(strategies.text(), strategies.from_regex(
        r'Sanitize Status \(SSTAT\) :  (0x)?[0-9a-f٣]{1,5000}')))
    def test_texts_of_nvme_and_hdparm(self, text):
        state = self.said(purge.sanitize_state, text)
        self.assertIn(state, (None, *range(8)))
        for lines in (text, f'Security:\n\tsupported\n\t{text}',
                      f'Security:\n\tsupported\n\t{"9" * 5000}min for '
                      'SECURITY ERASE UNIT.'):
            self.said(lambda t: purge.ata('/dev/sdb', t), lines,
                      errors.DeviceError)

    @few
    @given(strategies.one_of(strategies.text(), strategies.lists(
        strategies.one_of(strategies.integers(), strategies.just('x')),
        max_size=10).map(
            lambda v: f'cpu {" ".join(map(str, v))}\nctxt 9\nintr 9 8')))
    def test_proc_stat(self, text):
        reading = self.said(lambda t: host.parse(t, 1.0), text)
        if reading is not None:
            self.assertTrue(math.isfinite(reading.towards(
                host.HostCounters(2.0, 1e6, 1e6, 1e6, 1e6), 1.5).busy))

    @few
    @given(hostile.texts(RECORD))
    def test_a_record_of_preconditioning(self, text):
        state = self.said(precondition.parse, text, errors.FormatError)
        self.assertTrue(state is None or state.words)

    @few
    @given(hostile.texts(HEADER), hostile.texts(RUN))
    def test_a_journal_of_screening(self, header, run):
        good = json.dumps(HEADER)
        for text in (header, f'{header}\n', f'{good}\n{run}\n',
                     f'{header}\n{run}\n'):
            found = self.said(lambda t: journal.parse(t, 'x'), text,
                              errors.FormatError)
            if found is not None:
                header_, runs = found
                for name in header_.varied:
                    header_.space.middle(name)
                self.assertEqual([], header_.differences(header_))
                self.assertTrue(all(hash(one.key) for one in runs))
