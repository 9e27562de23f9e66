# SPDX-License-Identifier: Apache-2.0

import os

import ddt

from serifos.bench import io_scheduler
from serifos.bench import restore_notes
from serifos import errors
from tests.unit import case


@ddt.ddt
class IoSchedulerTest(case.DirectoryCase):
    """In a /sys of the test's own, which keeps what is written to it."""

    def setUp(self):
        super().setUp()
        self.sys, self.run = self.dir / 'sys', self.dir / 'run'
        dev = self.dir.stat().st_dev
        self.number = f'{os.major(dev)}:{os.minor(dev)}'
        (self.sys / 'dev/block').mkdir(parents=True)
        self.file = self.device('sda')

    def device(self, name):
        file = self.sys / 'block' / name / 'queue/scheduler'
        file.parent.mkdir(parents=True)
        file.write_text('[mq-deadline] none bfq\n')
        return file

    def link(self, *place):
        (self.sys / 'dev/block' / self.number).symlink_to(
            self.sys.joinpath('block', *place))

    def queue(self):
        return io_scheduler.read('sda', self.sys)

    @ddt.data(('[none] mq-deadline\n', 'none', ('none', 'mq-deadline')),
              ('none [mq-deadline] bfq', 'mq-deadline',
               ('none', 'mq-deadline', 'bfq')),
              ('none\n', 'none', ('none',)), ('', None, ()))
    @ddt.unpack
    def test_parsed(self, text, active, offered):
        self.assertEqual((active, offered), io_scheduler.parse(text))

    def test_the_device_below_a_directory(self):
        self.link('sda')
        queue = io_scheduler.below(self.dir, self.sys)
        self.assertEqual(('sda', 'mq-deadline', self.file),
                         (queue.device, queue.active, queue.path))

    def test_a_partition_has_that_of_its_disk(self):
        part = self.sys / 'block/sda/sda1'
        part.mkdir()
        (part / 'partition').write_text('1\n')
        self.link('sda', 'sda1')
        self.assertEqual('sda', io_scheduler.below(
            self.dir, self.sys).device)

    def test_a_file_system_without_a_device(self):
        exc = self.assertRaises(errors.DeviceError, io_scheduler.below,
                                self.dir, self.sys)
        self.assertIn('on no block device of its own', str(exc))

    def test_refused(self):
        queue = self.queue()
        self.assertIsNone(io_scheduler.refusal(queue, ('none', 'bfq'), True))
        for words, args in (
                ('no I/O scheduler kyber but mq-deadline, none, bfq',
                 (queue, ('kyber', 'none'), True)),
                ('only root may', (queue, ('none', 'bfq'), False)),
                ('has no I/O scheduler to be set',
                 (io_scheduler.read('dm-0', self.sys), ('none',), True))):
            self.assertIn(words, io_scheduler.refusal(*args))

    def test_set_and_put_back(self):
        with io_scheduler.held(self.queue(), self.run) as set_to:
            set_to('bfq')
            self.assertEqual('bfq', self.file.read_text())
            note = self.note().read()
            self.assertEqual('mq-deadline', note['scheduler'].text())
        self.assertEqual('mq-deadline', self.file.read_text())
        self.assertEqual([], [*self.run.iterdir()])

    def note(self):
        return restore_notes.Note('scheduler', 'sda', self.run)

    def test_put_back_after_a_ctrl_c(self):
        def interrupted():
            with io_scheduler.held(self.queue(), self.run) as set_to:
                set_to('bfq')
                raise KeyboardInterrupt
        self.assertRaises(KeyboardInterrupt, interrupted)
        self.assertEqual('mq-deadline', self.file.read_text())
        self.assertIsNone(self.note().read())

    def killed(self):
        """As a command leaves it that was killed while it was at it."""
        with self.note().held():
            self.note().write({'scheduler': 'mq-deadline'})
        self.file.write_text('mq-deadline none [bfq]\n')

    def test_what_a_killed_command_left_is_put_back(self):
        self.killed()
        if os.geteuid() != 0:
            exc = self.assertRaises(errors.DeviceError, io_scheduler.recover,
                                    self.queue(), self.run)
            self.assertIn('echo mq-deadline >', str(exc))
            return
        said = io_scheduler.recover(self.queue(), self.run)
        self.assertIn('is mq-deadline again', said)
        self.assertEqual('mq-deadline', self.file.read_text())
        self.assertIsNone(io_scheduler.recover(self.queue(), self.run))

    def test_the_next_command_puts_back_what_was_first(self):
        self.killed()
        with io_scheduler.held(self.queue(), self.run) as set_to:
            set_to('none')
        self.assertEqual('mq-deadline', self.file.read_text())

    def test_one_at_a_time(self):
        with io_scheduler.held(self.queue(), self.run):
            exc = self.assertRaises(errors.DeviceError, io_scheduler.held(
                self.queue(), self.run).__enter__)
        self.assertIn('wait for its end', str(exc))

    def test_a_kernel_that_takes_another(self):
        self.file.unlink()
        self.file.symlink_to('/dev/null')
        queue = io_scheduler.Queue('sda', 'none', ('none', 'bfq'), self.sys)
        with self.note().held():
            self.note().write({'scheduler': 'none'})
        context = io_scheduler.held(queue, self.run)
        set_to = context.__enter__()
        exc = self.assertRaises(errors.DeviceError, set_to, 'bfq')
        self.assertIn('is None after it was made bfq', str(exc))
        exc = self.assertRaises(errors.DeviceError, context.__exit__, None,
                                None, None)
        self.assertIn('after it was made none', str(exc))
        self.assertIsNotNone(self.note().read())

    def test_a_note_that_is_no_scheduler(self):
        with self.note().held():
            self.note().write({'scheduler': 'x; rm'})
        self.assertRaises(errors.FormatError, io_scheduler.recover,
                          self.queue(), self.run)
