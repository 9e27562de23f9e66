# SPDX-License-Identifier: Apache-2.0
"""MariaDB and RabbitMQ, which Cinder's services need.

Both run as root, for the directory of the testbed may be where no other user
gets to; nobody outside the namespace reaches them.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import signal
import subprocess

from tests.testbed import layout
from tests.testbed import network
from tests.testbed import records

DATABASE_PORT = 3306
QUEUE_PORT = 5672

DATABASE_URL = f'mysql+pymysql://cinder:cinder@{layout.CONTROL}/cinder'
QUEUE_URL = f'rabbit://guest:guest@{layout.CONTROL}:{QUEUE_PORT}/'

_SQL = """\
CREATE DATABASE IF NOT EXISTS cinder;
CREATE USER IF NOT EXISTS 'cinder'@'%' IDENTIFIED BY 'cinder';
GRANT ALL ON cinder.* TO 'cinder'@'%';
"""

_QUEUE_CONF = f"""\
listeners.tcp.1 = {layout.CONTROL}:{QUEUE_PORT}
loopback_users = none
vm_memory_high_watermark.absolute = 512MB
disk_free_limit.absolute = 50MB
log.file.level = warning
"""


class Control:
    """MariaDB and RabbitMQ, with their data in control/."""

    def __init__(self, where: layout.Layout,
                 started: records.Records) -> None:
        self._directory = where.control
        self._records = started
        self._network = network.Network(where.network)

    def start(self) -> None:
        self._directory.mkdir(exist_ok=True)
        # Calls that nobody waits for any more keep the services busy.
        shutil.rmtree(self._directory / 'rabbitmq', ignore_errors=True)
        self.start_queue()
        self.start_database()

    def start_database(self) -> None:
        data = self._directory / 'mariadb'
        if not data.exists():
            self._install_database(data)
        sql = self._directory / 'init.sql'
        sql.write_text(_SQL)
        self._records.start('mariadb', [
            *self._network.prefix, 'mariadbd', '--no-defaults',
            '--user=root', f'--datadir={data}', f'--init-file={sql}',
            f'--socket={self._directory}/mariadb.sock',
            f'--pid-file={self._directory}/mariadb.pid',
            f'--bind-address={layout.CONTROL}', '--skip-name-resolve',
            '--innodb-flush-log-at-trx-commit=0',
            '--innodb-flush-method=nosync', '--sync-frm=OFF',
            '--innodb-buffer-pool-size=64M', '--max-connections=500',
        ], self._directory / 'mariadb.log')

    def _install_database(self, data: pathlib.Path) -> None:
        # Under another name until it is whole.
        half = data.with_suffix('.half')
        done = subprocess.run(
            ['mariadb-install-db', '--no-defaults', '--user=root',
             f'--datadir={half}', '--skip-test-db', '--skip-name-resolve',
             '--auth-root-authentication-method=normal'],
            capture_output=True, text=True)
        if done.returncode:
            raise layout.TestbedError(
                f'MariaDB could not be set up: {done.stderr.strip()}')
        half.rename(data)

    def start_queue(self) -> None:
        home = self._directory / 'rabbitmq'
        home.mkdir(exist_ok=True)
        conf = home / 'rabbitmq.conf'
        conf.write_text(_QUEUE_CONF)
        (home / 'enabled_plugins').write_text('[].\n')
        # Started here, for RabbitMQ would leave one behind that no record
        # names.
        self._records.start('epmd', [
            *self._network.prefix, 'epmd', '-address', '127.0.0.1',
        ], self._directory / 'epmd.log')
        self._records.start('rabbitmq', [
            *self._network.prefix, '/usr/lib/rabbitmq/bin/rabbitmq-server',
        ], self._directory / 'rabbitmq.log', {
            'HOME': str(home),
            'RABBITMQ_CONF_ENV_FILE': '/dev/null',
            'RABBITMQ_NODENAME': 'rabbit@localhost',
            'RABBITMQ_MNESIA_BASE': str(home),
            'RABBITMQ_LOG_BASE': str(home),
            'RABBITMQ_CONFIG_FILE': str(conf),
            'RABBITMQ_ENABLED_PLUGINS_FILE': str(home / 'enabled_plugins'),
            'RABBITMQ_PID_FILE': str(home / 'pid'),
            'ERL_EPMD_ADDRESS': '127.0.0.1',
            # Replaces the shell script by the server that it starts.
            'RUNNING_UNDER_SYSTEMD': 'true',
            'RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS': '+S 2:2 +sbwt none',
            'PATH': f"{os.environ['PATH']}:/usr/sbin:/sbin"})

    def wait_database(self) -> None:
        self._wait('mariadb', DATABASE_PORT)

    def wait_queue(self) -> None:
        self._wait('rabbitmq', QUEUE_PORT)

    def restart_queue(self) -> None:
        """What was in RabbitMQ's memory is lost, as in an outage."""
        self._records.stop('rabbitmq', 'epmd')
        self.start_queue()
        self.wait_queue()

    def restart_database(self) -> None:
        """MariaDB dies and starts again, with all that it has committed."""
        self._records.stop('mariadb', number=signal.SIGKILL)
        self.start_database()
        self.wait_database()

    def _wait(self, name: str, port: int) -> None:
        log = self._directory / f'{name}.log'

        def answers() -> bool:
            if not self._records.alive(name):
                raise layout.TestbedError(
                    f'{name} ended as it started; see {log}.')
            return self._network.answers(layout.CONTROL, port)

        network.wait_for(f'{name} answers (see {log})', answers, 300)
