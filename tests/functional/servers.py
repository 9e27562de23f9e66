# SPDX-License-Identifier: Apache-2.0
"""Private servers for one test: MariaDB, PostgreSQL and etcd on loopback.

The databases do not wait for the disk: they are stopped, and the machine
goes on.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile
import urllib.request

import psycopg2
import pymysql

from serifos.database import connection
from tests.functional import machine
from tests.unit import case


def database(url: str) -> connection.Database:
    """A connection with the SQL mode that oslo.db sets by default."""
    return connection.Database(url, {'mysql_sql_mode': 'TRADITIONAL'})


class Server:
    """A program that listens on a port of its own, and can be restarted.

    :param test: whose cleanups end it; a MachineTest
    """

    programs: tuple[str, ...]
    user: str | None = None
    ended_by = signal.SIGTERM

    def __init__(self, test: machine.MachineTest) -> None:
        self.test = test
        test.need_programs(*self.programs)
        self.port = machine.free_port()
        self.directory = pathlib.Path(tempfile.mkdtemp(dir='/var/tmp'))
        test.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.process: subprocess.Popen | None = None
        self.make()
        test.addCleanup(self.stop)
        self.start()

    def make(self) -> None:
        """Makes what has to be there before it starts."""

    def command(self) -> list[str]:
        """The command line that starts it."""
        raise NotImplementedError

    def ready(self) -> bool:
        """Whether it serves: a port that is open is not enough."""
        raise NotImplementedError

    def start(self) -> None:
        with (self.directory / 'log').open('a') as log:
            self.process = subprocess.Popen(
                self.command(), stdout=log, stderr=log, cwd='/',
                **self.as_user())
        machine.wait_until(self.ready)

    def stop(self) -> None:
        if self.process is not None:
            self.process.send_signal(self.ended_by)
            try:
                self.process.wait(case.PATIENCE_S)
            finally:
                self.process.kill()
                self.process = None

    def restart(self) -> None:
        self.stop()
        self.start()

    def as_user(self) -> dict[str, object]:
        if os.geteuid() != 0 or self.user is None:
            return {}
        entry = pwd.getpwnam(self.user)
        return {'user': entry.pw_uid, 'group': entry.pw_gid,
                'extra_groups': []}

    def run(self, *command: object) -> str:
        done = subprocess.run(
            list(map(str, command)), capture_output=True, text=True, cwd='/',
            stdin=subprocess.DEVNULL, timeout=case.PATIENCE_S,
            **self.as_user())
        self.test.assertEqual(0, done.returncode, done.stderr)
        return done.stdout


class MariaDB(Server):
    """A MariaDB with a database and a user ``serifos``."""

    programs = ('mariadbd', 'mariadb-install-db', 'mariadb')

    def make(self) -> None:
        self.run(machine.which('mariadb-install-db'), '--no-defaults',
                 f'--datadir={self.directory}/db', '--user=root',
                 '--auth-root-authentication-method=normal',
                 '--skip-test-db')

    def command(self) -> list[str]:
        return [machine.which('mariadbd'), '--no-defaults', '--user=root',
                f'--datadir={self.directory}/db', f'--port={self.port}',
                '--bind-address=127.0.0.1', '--sync-frm=OFF',
                '--innodb-flush-method=nosync',
                f'--socket={self.socket}', '--pid-file=db.pid']

    def ready(self) -> bool:
        # It opens its port before its socket, and serves after both.
        with contextlib.suppress(pymysql.OperationalError):
            pymysql.connect(unix_socket=self.socket, user='root').close()
            return True
        return False

    def start(self) -> None:
        super().start()
        self.sql('create database if not exists serifos;'
                 "create user if not exists 'serifos'@'%' identified by "
                 "'sesame'; grant all on serifos.* to 'serifos'@'%'")

    def sql(self, statements: str) -> str:
        return self.run(
            machine.which('mariadb'), '--no-defaults', '-N',
            f'--socket={self.socket}', '-e', statements)

    @property
    def socket(self) -> str:
        return f'{self.directory}/db.sock'

    @property
    def lock_url(self) -> str:
        return f'mysql://serifos:sesame@127.0.0.1:{self.port}/serifos'

    @property
    def connection(self) -> str:
        return (f'mysql+pymysql://serifos:sesame@127.0.0.1:{self.port}/'
                'serifos')


class PostgreSQL(Server):
    """A PostgreSQL with the superuser ``serifos``."""

    programs = ()
    user = 'postgres'
    # Its fast shutdown; at SIGTERM it waits for clients that stay connected.
    ended_by = signal.SIGINT

    def make(self) -> None:
        found = sorted(pathlib.Path('/usr/lib/postgresql').glob('*/bin'))
        self.test.need(found, 'postgresql is not installed')
        self.bin = found[-1]
        if os.geteuid() == 0:
            shutil.chown(self.directory, self.user, self.user)
        (self.directory / 'password').write_text('sesame')
        (self.directory / 'password').chmod(0o644)
        self.run(self.bin / 'initdb', '-D', self.directory / 'db', '-U',
                 'serifos', '--no-sync', '-A', 'scram-sha-256',
                 f'--pwfile={self.directory}/password')

    def command(self) -> list[str]:
        return [str(self.bin / 'postgres'), '-D', f'{self.directory}/db',
                '-F', '-h', '127.0.0.1', '-p', str(self.port), '-k',
                str(self.directory)]

    def ready(self) -> bool:
        with contextlib.suppress(psycopg2.OperationalError):
            psycopg2.connect(self.lock_url).close()
            return True
        return False

    @property
    def lock_url(self) -> str:
        return f'postgresql://serifos:sesame@127.0.0.1:{self.port}/postgres'

    @property
    def connection(self) -> str:
        return self.lock_url.replace('postgresql:', 'postgresql+psycopg2:')


class Etcd(Server):
    """An etcd of one member."""

    programs = ('etcd',)

    def make(self) -> None:
        self.peers = machine.free_port()

    def command(self) -> list[str]:
        mine = f'http://127.0.0.1:{self.port}'
        return [machine.which('etcd'), '--data-dir',
                f'{self.directory}/data', '--listen-client-urls', mine,
                '--advertise-client-urls', mine, '--listen-peer-urls',
                f'http://127.0.0.1:{self.peers}', '--logger', 'zap']

    def ready(self) -> bool:
        with contextlib.suppress(OSError), urllib.request.urlopen(
                f'http://127.0.0.1:{self.port}/health', timeout=1) as answer:
            return b'true' in answer.read()
        return False

    @property
    def lock_url(self) -> str:
        return (f'etcd3+http://127.0.0.1:{self.port}'
                '?api_version=v3&timeout=3')
