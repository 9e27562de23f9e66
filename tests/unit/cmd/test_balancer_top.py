# SPDX-License-Identifier: Apache-2.0
import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

import ddt
from rich.cells import cell_len
import testtools

from serifos.cmd.balancer import top
from tests.unit import case
from tests.unit.cmd import command
from tests.unit.cmd import days
from tests.unit.cmd import test_balancer_undo

LINES, COLUMNS = 24, 80

LEAVES = b'\x1b[?1049l'
"""What restores the screen that was there before."""

SHOWS = b'\x1b[?25h'
"""What shows the cursor."""


def _take_terminal():
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    # It is ignored by what a script runs in the background, as tests may be.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@ddt.ddt
class TopTest(test_balancer_undo.Case):
    """The example cluster, with latencies, a plan and a copy in flight."""

    def setUp(self):
        super().setUp()
        for number, each in enumerate(self.doc['volumes'], 1):
            if each.get('workload'):
                each['workload'].update(iops=100.0 * number, latency_us=2500)
        self.doc['volumes'][0].update(name='db\x1b[2J', copy_mib_s=100.0)
        self.look()
        self.stored.keep(self.plan, self.now, self.fail)

    def asked(self):
        first = self.doc['volumes'][0]
        self.now -= 60
        self.journal.write(
            'request', volume=first['id'], source=first['pool'],
            target='node5@ssd#ssd', plan='x', size_gib=60.0)
        self.now += 60

    def once(self):
        code, out, err = command.balance(
            '--config-file', self.file, 'top', '--once')
        self.assertEqual((0, ''), (code, err))
        return out

    def test_one_frame_for_a_pipe_is_whole(self):
        self.asked()
        out = self.once()
        self.assertRegex(out, r'^\d\d:\d\d:\d\d  mode approve  last round ')
        self.assertNotIn('\x1b', out)
        for pool in self.doc['pools']:
            self.assertIn(pool['name'].partition('@')[0], out)
        named = self.doc['volumes'][0]
        for each in self.doc['volumes']:
            if each is not named and each.get('workload') and (
                    each['workload']['iops']):
                self.assertIn(each['id'], out)
        self.assertRegex(
            out, r'db\?\[2J \(' + named['id'][:8] + r'\) +\S+ +1(\.\d+)? '
            r'+9\.2\d? +100 +\S+ +→ node5\n')
        after = self.plan.latency_us['node1@ssd#ssd'].after / 1e3
        row = next(line.split() for line in out.splitlines()
                   if line.startswith('node1 '))
        self.assertEqual(f'{after:.3g}', row[4])

    def planned(self):
        """What is said of node1 after the newest plan that is valid."""
        return next(line.split() for line in self.once().splitlines()
                    if line.startswith('node1 '))[4]

    def test_a_plan_that_was_carried_out_is_planned_no_more(self):
        self.assertNotEqual('', self.planned())
        self.move(self.plan.moves[-1], 'success')
        self.look()
        self.assertEqual('–', self.planned())

    def test_pools_are_hot_by_the_days_that_rounds_judge_by(self):
        with self.file.open('a') as file:
            file.write('window = 86400\nfix_at_once = false\n')
        self.assertNotIn('by the last 24 hours', self.once())
        awake = [each['id'] for each in self.doc['volumes']
                 if each['pool'].startswith('node3')]
        days.keep(self.file, days.past(self.doc, self.now, idle=[
            each['id'] for each in self.doc['volumes']
            if each['id'] not in awake]))
        out = self.once()
        self.assertIn('1 hot pool by the last 24 hours, ', out)
        hot = [line.split()[0] for line in out.splitlines()
               if re.match(r'node\d .* yes ', line)]
        self.assertEqual(['node3'], hot)

    @ddt.data('[/x][b]', ':zap:')
    def test_a_name_is_shown_as_it_is(self, name):
        self.doc['volumes'][0]['name'] = name
        self.look()
        self.assertIn(f'\n{name} ', self.once())

    def test_without_an_observation(self):
        (self.dir / 'cluster.json').unlink()
        out = self.once()
        self.assertIn('last round none: there is no observation', out)
        self.assertIn('There is no cluster', out)

    def test_a_pause_is_told_first(self):
        self.journal.write('pause', reason='3 failures in a row')
        self.assertIn('paused: 3 failures in a row', self.once())

    @ddt.data('0', 'nan', '86400')
    def test_an_interval_that_cannot_be(self, seconds):
        code, out, err = command.balance(
            '--config-file', self.file, 'top', '--interval', seconds)
        self.assertEqual((2, ''), (code, out))
        self.assertIn('--interval', err)

    def terminal(self, *arguments):
        """A process on a terminal of its own, and our end of that."""
        ours, theirs = pty.openpty()
        self.addCleanup(self.closed, ours)
        fcntl.ioctl(theirs, termios.TIOCSWINSZ,
                    struct.pack('HHHH', LINES, COLUMNS, 0, 0))
        environment = {name: value for name, value in os.environ.items()
                       if name not in ('COLUMNS', 'LINES', 'NO_COLOR')}
        process = subprocess.Popen(
            [sys.executable, '-m', 'serifos.cmd.balancer', '--config-file',
             str(self.file), 'top', *arguments], stdin=theirs, stdout=theirs,
            stderr=theirs, env={**environment, 'TERM': 'xterm'},
            start_new_session=True, preexec_fn=_take_terminal)
        os.close(theirs)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process, ours

    def closed(self, ours):
        with contextlib.suppress(OSError):  # it may be already
            os.close(ours)

    def until(self, ours, wanted, count=1):
        """What is printed until something was so often."""
        found, end = b'', time.monotonic() + case.PATIENCE_S
        while found.count(wanted) < count:
            self.assertLess(time.monotonic(), end, found)
            if select.select([ours], [], [], 1)[0]:
                found += os.read(ours, 65536)
        return found

    def frames(self, printed):
        """The lines of each screenful, without what moves the cursor."""
        text = b''
        for piece in printed.split(b'\x1b[')[1:]:
            code = piece.lstrip(b'0123456789;?')
            text += b'\f' if code[:1] == b'H' else b''
            text += code[1:]
        return [frame.decode().replace('\r', '').split('\n')
                for frame in text.split(b'\f') if b'POOL' in frame]

    def test_live_on_80_columns_and_24_lines(self):
        self.asked()
        process, ours = self.terminal('--interval', '0.3')
        # The last frame may be cut, here or by the signal.
        frames = self.frames(self.until(ours, b'IN FLIGHT', 3))[:-1]
        os.write(ours, b'\x03')
        self.until(ours, LEAVES)
        self.assertEqual(0, process.wait(case.PATIENCE_S))
        self.assertEqual(2, len(frames))
        for frame in frames:
            self.assertLessEqual(len(frame), LINES, frame)
            self.assertLessEqual(max(map(len, frame)), COLUMNS, frame)
            shown = '\n'.join(frame)
            for part in ('mode approve', 'POOL', 'node1', 'VOLUME',
                         'IN FLIGHT', 'db?[2J', 'q ends'):
                self.assertIn(part, shown)

    def test_long_names_leave_the_numbers_whole(self):
        self.asked()
        text = json.dumps(self.doc)
        for number in range(1, 7):
            text = text.replace(
                f'node{number}@', f'storage-node-{number}.rack-{number % 2}.'
                f'cloud-{number % 2}.example.org@')
        self.doc.update(json.loads(text))
        for number, each in enumerate(self.doc['volumes']):
            each['name'] = f'production-orders-postgresql-data-{number}'
        self.look()
        whole = [line for line in self.once().splitlines()
                 if line.startswith('storage-')]
        process, ours = self.terminal('--interval', '0.3')
        frame = self.frames(self.until(ours, b'IN FLIGHT', 2))[0]
        os.write(ours, b'q')
        self.assertEqual(0, process.wait(case.PATIENCE_S))
        self.assertLessEqual(max(map(len, frame)), COLUMNS, frame)
        shown = [line for line in frame
                 if re.match(r'\S*\.cloud-\d ', line)]
        self.assertEqual(6, len(shown))
        for line, cut in zip(whole, shown):
            numbers = cut.split()[1:]
            self.assertLessEqual(7, len(numbers))
            self.assertEqual(line.split()[1:len(numbers) + 1], numbers)
        # What tells them apart is there still.
        self.assertEqual([line.split()[0][-len('6.rack-0.cloud-0'):]
                          for line in whole],
                         [line.split()[0].rpartition('…')[2]
                          for line in shown])
        flight = next(i for i, line in enumerate(frame)
                      if line.startswith('IN FLIGHT'))
        volumes = [line.split() for line in frame[:flight]
                   if line.startswith('production-')]
        self.assertTrue(volumes, frame)
        for cells in volumes:
            self.assertRegex(cells[0], r'^pro.*\d+$')
            self.assertEqual('2.5', cells[2])
            self.assertRegex(cells[-1], r'^storage-node-.*org$|…')

    def test_a_signal_leaves_the_terminal_whole(self):
        process, ours = self.terminal('--interval', '30')
        theirs = os.open(f'/proc/{process.pid}/fd/0', os.O_RDWR | os.O_NOCTTY)
        self.addCleanup(os.close, theirs)
        self.until(ours, b'IN FLIGHT')
        self.assertFalse(termios.tcgetattr(theirs)[3] & termios.ECHO)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGTERM)
        if SHOWS not in self.until(ours, LEAVES):
            self.until(ours, SHOWS)
        while process.poll() is None:
            process.send_signal(signal.SIGTERM)
        self.assertEqual(0, process.wait(case.PATIENCE_S))
        for flag in termios.ECHO, termios.ICANON:
            self.assertTrue(termios.tcgetattr(theirs)[3] & flag)

    def test_it_ends_with_its_terminal(self):
        process, ours = self.terminal('--interval', '0.3')
        self.until(ours, b'IN FLIGHT')
        os.close(ours)
        self.assertEqual(0, process.wait(case.PATIENCE_S))

    def test_what_is_new_is_shown(self):
        process, ours = self.terminal('--interval', '0.3')
        self.until(ours, b'nothing')
        self.asked()
        self.until(ours, b'1 volume in flight')
        os.write(ours, b'q')
        self.assertEqual(0, process.wait(case.PATIENCE_S))


@ddt.ddt
class RowsTest(testtools.TestCase):

    @ddt.data(None, 24, 30)
    def test_columns_begin_below_one_another(self, width):
        found = [line.plain for line in top.Rows(
            ('VOLUME', 'IOPS', 'pool'), [
                ('漢字のボリューム名 1', '5', 'node1'),
                ('漢字のボリューム名 2', '12', 'node2'), ('db', '1', 'node1')],
            names=(0, 2)).lines(width)]
        self.assertEqual(1, len({cell_len(line.partition('node')[0])
                                 for line in found[1:]}), found)
        if width is not None:
            self.assertLessEqual(max(map(cell_len, found)), width)
            for number, line in enumerate(found[1:3], 1):
                self.assertRegex(line, fr'^漢字.*….*名 {number} ')

    def test_columns_that_are_there_only_where_they_fit(self):
        rows = top.Rows(('name', 'a', 'more', 'most'),
                        [('long-name', '1', '2', '3')], more=2)
        self.assertEqual(
            {12: 'name       a', 13: 'name       a',
             18: 'name       a  more', 24: 'name       a  more  most',
             None: 'name       a  more  most'},
            {width: next(rows.lines(width)).plain
             for width in (12, 13, 18, 24, None)})
