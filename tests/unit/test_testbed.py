# SPDX-License-Identifier: Apache-2.0
"""The testbed's processes, directories, command line and readings of fio."""

from concurrent import futures
import contextlib
import io
import json
import os
import pathlib
import subprocess
import threading
import types

import ddt
import fixtures
import testtools

from tests.testbed import cinder
from tests.testbed import commands
from tests.testbed import fio_result
from tests.testbed import layout
from tests.testbed import records
from tests.testbed import testbed
from tests.unit import case

TOOL = pathlib.Path(__file__).parents[2] / 'tools' / 'testbed'

# A shell with a child of its own; both would live for a minute.
SLEEPERS = ['sh', '-c', 'sleep 60 & sleep 60']


class RecordsTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        directory = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.path = directory / 'records.json'
        self.log = directory / 'log'
        self.records = records.Records(self.path)

    def _session(self, name):
        pid = json.loads(self.path.read_text())[name]['pid']
        return [found for found in records.processes()
                if found.session == pid]

    def _start(self, name, argv=SLEEPERS):
        self.records.start(name, argv, self.log)
        self.addCleanup(self.records.stop, name)

    def test_stop_ends_the_session_and_forgets_it(self):
        self._start('one')
        self._start('two')
        sleepers = self._session('one')
        self.assertTrue(self.records.alive('one'))
        self.records.stop('one')
        self.assertEqual(
            [], [found for found in sleepers
                 if records.process(found.pid) == found])
        self.assertEqual(['two'], self.records.names())
        self.assertTrue(self.records.alive('two'))

    def test_another_process_may_stop_it(self):
        self._start('one')
        other = records.Records(self.path)
        self.assertTrue(other.alive('one'))
        other.stop('one')
        self.assertFalse(self.records.alive('one'))

    def test_children_end_though_their_leader_is_dead(self):
        self._start('one')
        leader, *children = sorted(self._session('one'),
                                   key=lambda found: found.started)
        records.end([leader], 9)
        while records.process(leader.pid):
            self.records.alive('one')
        self.assertFalse(self.records.alive('one'))
        self.records.stop('one')
        self.assertEqual([], [found for found in children
                              if records.process(found.pid) == found])

    def test_threads_may_learn_at_once_that_a_child_ended(self):
        self._start('one')
        pid, = self.records._children
        both = threading.Barrier(2, timeout=case.PATIENCE_S)
        self.records._children[pid] = types.SimpleNamespace(
            poll=lambda: both.wait())
        with futures.ThreadPoolExecutor(2) as pool:
            found = pool.map(self.records.alive, ('one', 'one'))
            self.assertEqual([True, True], list(found))

    def test_a_process_that_got_the_pid_later_lives_on(self):
        bystander = subprocess.Popen(['sleep', '60'], start_new_session=True)
        self.addCleanup(bystander.wait)
        self.addCleanup(bystander.kill)
        found = records.process(bystander.pid)
        boot = pathlib.Path('/proc/sys/kernel/random/boot_id').read_text()
        for record in (
                {'pid': found.pid, 'started': found.started - 1,
                 'boot': boot.strip()},
                {'pid': found.pid, 'started': found.started,
                 'boot': 'another boot of the machine'}):
            self.path.write_text(json.dumps({'one': record}))
            self.assertFalse(self.records.alive('one'))
            self.records.stop('one', number=9)
            self.assertIsNone(bystander.poll())


class LayoutTest(testtools.TestCase):

    def test_two_directories_have_two_networks(self):
        names = {layout.Layout.at(path).network for path in ('/a', '/b')}
        self.assertEqual(2, len(names))
        # IFNAMSIZ does not bound a namespace's name, good sense does.
        self.assertLess(max(map(len, names)), 20)

    def test_a_long_path_is_refused(self):
        self.assertRaisesRegex(layout.TestbedError, '--dir',
                               layout.Layout.at, '/' + 61 * 'x')

    def test_the_shape_is_kept_until_the_disks_are_wiped(self):
        where = layout.Layout.at(self.useFixture(fixtures.TempDir()).path)
        self.assertIsNone(where.shape)
        shape = layout.Shape(hosts=2, nova=True)
        where.set_shape(shape)
        self.assertEqual(shape, where.shape)
        where.set_shape(None)
        self.assertIsNone(where.shape)

    def test_an_option_given_later_counts(self):
        self.assertEqual(
            '[DEFAULT]\nhost = b\nport = 1\n\n[ssd]\nname = c\n',
            cinder.render({'DEFAULT': {'host': 'a', 'port': 1}},
                          {'ssd': {'name': 'c'}, 'DEFAULT': {'host': 'b'}}))


class AttachTest(testtools.TestCase):

    def test_a_network_without_its_directory_is_no_testbed(self):
        """Who removes a checkout leaves the network of its testbed."""
        path = self.useFixture(fixtures.TempDir()).join('.testbed')
        self.useFixture(fixtures.MonkeyPatch(
            'tests.testbed.network.Network.exists', True))
        found = self.assertRaises(
            layout.TestbedError, testbed.Testbed.attach, path)
        self.assertIn('the testbed is down', str(found))


class CommandTest(testtools.TestCase):

    def test_what_is_wrong_is_one_sentence_and_a_code(self):
        with contextlib.redirect_stderr(io.StringIO()) as err:
            code = commands.main(['--dir', '/nonexistent', 'status'])
        self.assertEqual(
            (1, 'testbed: the testbed is down; start it by tools/testbed '
             'up.\n'), (code, err.getvalue()))

    def test_a_demo_with_servers_needs_a_nova(self):
        # One that runs takes root and a minute.
        self.useFixture(fixtures.MonkeyPatch(
            'tests.testbed.testbed.Testbed.attach',
            lambda *_: types.SimpleNamespace(nova=None)))
        with contextlib.redirect_stderr(io.StringIO()) as err:
            code = commands.main(['demo'])
        self.assertEqual(1, code)
        self.assertRegex(err.getvalue(), 'no Nova.* demo --available.* up '
                                         '--nova')

    def told(self, before, after, intact=True):
        """(exit code, stdout, stderr) of the demo, of slowest hosts in µs."""
        found = types.SimpleNamespace(
            **dict.fromkeys(('models', 'tenants', 'observe', 'place', 'end'),
                            lambda: None),
            MOVE_IN='', balancer=types.SimpleNamespace(forget=lambda: None),
            felt=map(lambda us: types.SimpleNamespace(worst=us),
                     (before, after)).__next__,
            balance=lambda: ['a move'], compared=lambda *_: [],
            intact=lambda: {'oltp': True, 'logs': intact})
        for name, its in (('testbed.Testbed.attach', None),
                          ('available.AvailableStory', found)):
            self.useFixture(fixtures.MonkeyPatch(
                f'tests.testbed.{name}', lambda *_, it=its: it))
        with (contextlib.redirect_stdout(io.StringIO()) as out,
              contextlib.redirect_stderr(io.StringIO()) as err):
            code = commands.main(['demo', '--available'])
        return code, out.getvalue(), err.getvalue()

    def test_a_demo_says_how_it_ended(self):
        code, out, err = self.told(9000, 4000)
        self.assertEqual((0, ''), (code, err))
        self.assertTrue(out.endswith('and every byte is there.\n'), out)
        code, _, err = self.told(4000, 4000)
        self.assertEqual(1, code)
        self.assertIn('did not become faster by 1 volume moved: 4.0 ms '
                      'before, 4.0 ms after; end what else', err)
        code, _, err = self.told(9000, 4000, intact=False)
        self.assertEqual(1, code)
        self.assertIn('the data of logs is not what was written', err)

    def test_a_soak_has_moves(self):
        for wrong in ('0', '-1', 'many'):
            with contextlib.redirect_stderr(io.StringIO()) as err:
                self.assertRaises(SystemExit, commands.main,
                                  ['soak', '--moves', wrong])
            self.assertIn('is not a number from 1 on', err.getvalue())


@ddt.ddt
class NotInstalledTest(testtools.TestCase):

    @ddt.data(
        (('--help',), 0, 'A real Cinder'), (('-h',), 0, 'A real Cinder'),
        (('up', '--nova', '--help'), 0, 'A real Cinder'),
        ((), 2, 'A real Cinder'),
        (('status',), 1, 'The testbed is down.\n'),
        (('down',), 0, 'The testbed is down.\n'),
        (('down', '--wipe'), 0, 'The testbed is down.\n'))
    @ddt.unpack
    def test_nothing_is_installed_to_answer(self, words, code, says):
        place = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        for name in ('apt-get', 'python3', *(
                f'python3.{minor}' for minor in range(11, 15))):
            (place / name).write_text('#!/bin/sh\nexit 1\n')
            (place / name).chmod(0o755)
        done = subprocess.run(
            [TOOL, '--dir', place / 'none', *words], text=True,
            capture_output=True,
            env={'PATH': f'{place}:{os.environ["PATH"]}'})
        self.assertEqual((code, ''), (done.returncode, done.stderr))
        self.assertThat(done.stdout, testtools.matchers.StartsWith(says))
        self.assertEqual([], [*place.glob('none')])


class ResultTest(testtools.TestCase):

    def said(self, at_s, requests, seconds, latency_us=5000):
        """What fio has said by then: reads of 16 KiB."""
        side = {'io_bytes': 16384 * requests, 'total_ios': requests}
        job = {'error': 0, 'read': side,
               'write': {'io_bytes': 0, 'total_ios': 0},
               'mixed': {'total_ios': requests, 'iops': requests / seconds,
                         'runtime': 1000 * seconds,
                         'lat_ns': {'mean': 1e3 * latency_us, 'percentile': {
                             '99.000000': 9e6}}}}
        return fio_result.parse('v', layout.hosts(1)[0], json.dumps(
            {'timestamp_ms': 1000 * at_s, 'jobs': [job]}))

    def test_fio_says_more_than_its_json(self):
        side = {'io_bytes': 16384, 'total_ios': 1}
        job = {'error': 0, 'read': side,
               'write': {'io_bytes': 49152, 'total_ios': 3},
               'mixed': {'total_ios': 4, 'iops': 2.0, 'runtime': 2000,
                         'lat_ns': {'mean': 5e6,
                                    'percentile': {'99.000000': 9e6}}}}
        said = 'fio: terminating on signal 2\n' + json.dumps(
            {'timestamp_ms': 1795265239138, 'jobs': [job]})
        found = fio_result.parse('v', layout.hosts(1)[0], said)
        self.assertEqual(
            ('node1', 1795265239.138, 2.0, 75.0, 16.0, 5000.0, 9000.0, 0),
            (found.host, found.at, found.iops, found.write_pct,
             found.block_kib, found.latency_us, found.p99_us, found.errors))

    def test_what_was_seen_between_two_moments(self):
        # 100 requests per second of 5 ms, then from 10 s on 200 of 2 ms.
        told = [self.said(2, 200, 2), self.said(10, 1000, 10),
                self.said(20, 3000, 20, (1000 * 5000 + 2000 * 2000) / 3000),
                self.said(30, 5000, 30, (1000 * 5000 + 4000 * 2000) / 5000)]
        found = fio_result.between(told, 5, 25)
        requests = 5 * 100 + 15 * 200
        self.assertAlmostEqual(20, found.seconds)
        self.assertAlmostEqual(requests / 20, found.iops)
        self.assertAlmostEqual((5 * 100 * 5000 + 15 * 200 * 2000) / requests,
                               found.latency_us)
        self.assertAlmostEqual(16, found.block_kib)
        for begin, end in ((1, 25), (5, 31)):
            self.assertRaisesRegex(
                layout.TestbedError, 'nothing was told',
                fio_result.between, told, begin, end)

    def test_no_json_is_said_with_what_fio_said(self):
        self.assertRaisesRegex(layout.TestbedError, 'no such device',
                               fio_result.parse, 'v', layout.hosts(1)[0],
                               'no such device')
