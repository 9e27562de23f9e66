# SPDX-License-Identifier: Apache-2.0
"""One guest: its disk, boot, commands and power failure."""

from __future__ import annotations

import os
import pathlib
import shutil
import signal

from tests.testbed import layout
from tests.testbed import network
from tests.testbed import records

BOOT_S = 300


class Guest:
    """A User-Mode Linux with the host's files and a disk of its own."""

    def __init__(self, host: layout.Host, where: layout.Layout,
                 started: records.Records) -> None:
        self.host = host
        self._layout = where
        self._records = started
        self._network = network.Network(where.network)

    @property
    def alive(self) -> bool:
        """Whether its kernel runs."""
        return self._records.alive(self.host.name)

    def make_disk(self, size_gib: int) -> None:
        """A sparse file, unless there is one."""
        node = self._layout.node(self.host)
        node.mkdir(exist_ok=True)
        image = self._layout.image(self.host)
        if not image.exists():
            image.touch()
            os.truncate(image, size_gib * 2 ** 30)

    def boot(self) -> None:
        """Starts the kernel; wait_up() tells when it is of use."""
        if self.alive:
            raise layout.TestbedError(f'{self.host.name} runs already.')
        self._records.stop(self.host.name)
        node = self._layout.node(self.host)
        host, number = self.host, self.host.number
        where = self._layout
        # hostfs as the root, so nothing has to be installed in an image;
        # 9000 bytes a packet, since each costs the guest a system call.
        self._records.start(host.name, [
            *self._network.prefix, 'linux.uml', f'mem={host.memory_mib}M',
            f'umid={host.name}', f'uml_dir={where.directory}/uml',
            'root=/dev/root', 'rootfstype=hostfs', 'rootflags=/', 'ro',
            f'init={where.inside}/init.sh', f'ubda={where.image(host)}',
            f'vec0:transport=tap,ifname=tap{number},depth=128,gro=1,'
            f'mtu=9000,mac=02:77:00:00:00:{number:02x}',
            'con=null', 'con0=null,fd:1', 'con1=null', 'quiet',
            f'TESTBED_STATE={where.directory}', f'TESTBED_NAME={host.name}',
            f'TESTBED_ROLE={host.role}',
            f'TESTBED_ADDRESS={host.address}',
            f'TESTBED_IQN=iqn.2026-01.org.serifos:{host.name}',
        ], node / 'console.log', {
            'LD_PRELOAD': str(where.shim), **self._ssd(),
            'TMPDIR': str(memory_directory(
                where.directory, host.memory_mib))})

    def _ssd(self) -> dict[str, str]:
        """What the shim makes an SSD of, at a real-time priority.

        The emulated processors of a compute host, at the same priority, would
        keep everything else from running.
        """
        host = self.host
        return {} if host.role != 'storage' else {
            'SSD_IMAGE': str(self._layout.image(host)),
            'SSD_READ_MBS': str(host.read_mbs),
            'SSD_WRITE_MBS': str(host.write_mbs)}

    def wait_up(self) -> None:
        """Until it answers, which it does when all is prepared."""
        def decided() -> bool:
            return not self.alive or self._network.answers(
                self.host.address, 22)

        try:
            network.wait_for(f'{self.host.name} answers', decided, BOOT_S)
        except layout.TestbedError as error:
            raise layout.TestbedError(f'{error} {self._last_words()}')
        if not self.alive:
            raise layout.Missing(
                f'User-Mode Linux does not work here: {self.host.name} died '
                f'as it started; {self._last_words()}')

    def run(self, script: str, timeout: float = 60) -> tuple[int, str]:
        """(exit status, output) of a bash script in the guest.

        The status is 124 where it took longer than timeout (s). OSError
        where the guest is dead.
        """
        _, headers, body = self._network.request(
            'POST', self.host.address, 22, '/', script.encode(),
            headers={'X-Timeout': str(timeout)}, timeout=timeout + 30)
        return int(headers['X-Status']), body.decode(errors='replace')

    def call(self, script: str, timeout: float = 60) -> str:
        """The output of a script that has to succeed."""
        status, said = self.run(script, timeout)
        if status:
            raise layout.TestbedError(
                f'{self.host.name} ended with {status}: {script.strip()}: '
                f'{said.strip()}')
        return said

    def kill(self) -> None:
        """A power failure; its disk keeps what it had written."""
        self._records.stop(self.host.name, number=signal.SIGKILL)
        shutil.rmtree(self._layout.directory / 'uml' / self.host.name,
                      ignore_errors=True)

    def _last_words(self) -> str:
        log = self._layout.node(self.host) / 'console.log'
        lines = log.read_text(errors='replace').split('\n')
        words = ' '.join(line.strip() for line in lines[-6:])
        return f'{log} ends with: {words}'


def memory_directory(other: pathlib.Path, memory_mib: int) -> pathlib.Path:
    """Where a guest's memory is a file: in memory, if it fits in there."""
    memory = pathlib.Path('/dev/shm')
    if memory.is_dir() and os.access(memory, os.W_OK):
        free = shutil.disk_usage(memory).free
        if free >= 4 * memory_mib * 2 ** 20:
            return memory
    return other
