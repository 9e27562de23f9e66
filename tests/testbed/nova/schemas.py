# SPDX-License-Identifier: Apache-2.0
"""The databases of Keystone, Placement and Nova, made once and then copied.

Their hundreds of migrations take a minute. What they make, Keystone's users
and endpoints included, is kept as a dump whose name depends on the versions
that are pinned and on what fills it.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent import futures
import gzip
import hashlib
import pathlib
import subprocess

from tests.testbed import control
from tests.testbed import kernel
from tests.testbed import layout
from tests.testbed import network
from tests.testbed.nova import config
from tests.testbed.nova import identity

DATABASES = ('keystone', 'placement', 'nova_api', 'nova_cell0', 'nova')

_HERE = pathlib.Path(__file__).parent
_KEY = ('requirements.txt', 'identity.py', 'schemas.py')
_USER = "CREATE USER IF NOT EXISTS 'nova'@'%' IDENTIFIED BY 'nova';\n"
_EMPTY = """\
CREATE DATABASE {name};
GRANT ALL ON {name}.* TO 'nova'@'%';
"""


class Schemas:
    """The databases in a testbed's MariaDB, which answers."""

    def __init__(self, where: layout.Layout) -> None:
        self._layout = where
        self._network = network.Network(where.network)
        key = hashlib.sha256(repr([
            *((_HERE / name).read_text() for name in _KEY), identity.ENDPOINTS,
            config.AUTH_URL, config.database(''), control.QUEUE_URL,
        ]).encode()).hexdigest()[:16]
        self.kept = kernel.cache() / f'nova-{key}.sql.gz'

    def create(self) -> bool:
        """Creates the databases; whether they are filled, from a dump."""
        self._sql((_USER + ''.join(
            _EMPTY.format(name=name) for name in DATABASES)).encode())
        if not self.kept.exists():
            return False
        self._sql(gzip.decompress(self.kept.read_bytes()))
        return True

    def migrate(self) -> None:
        """Fills empty ones, by each service's own command."""
        with futures.ThreadPoolExecutor() as pool:
            for done in [pool.submit(self._keystone), pool.submit(
                    self._manage, 'placement', 'db', 'sync'), pool.submit(
                    self._nova)]:
                done.result()

    def keep(self) -> None:
        """Dumps them, for the next testbed."""
        said = self._client('mariadb-dump', '--databases', *DATABASES)
        self.kept.parent.mkdir(parents=True, exist_ok=True)
        half = self.kept.with_suffix('.half')
        half.write_bytes(gzip.compress(said, 1))
        half.rename(self.kept)

    def _keystone(self) -> None:
        self._manage('keystone', 'db_sync')
        url = config.AUTH_URL
        self._manage(
            'keystone', 'bootstrap',
            '--bootstrap-password', config.PASSWORD,
            '--bootstrap-region-id', config.REGION,
            '--bootstrap-public-url', url, '--bootstrap-admin-url', url,
            '--bootstrap-internal-url', url)

    def _nova(self) -> None:
        self._manage('nova', 'api_db', 'sync')
        self._manage('nova', 'cell_v2', 'map_cell0', '--database_connection',
                     config.database('nova_cell0'))
        self._manage('nova', 'db', 'sync')
        self._manage('nova', 'cell_v2', 'create_cell', '--name', 'cell1')

    def _manage(self, service: str, *words: str) -> None:
        self._run([*self._network.prefix,
                   self._layout.venv / 'bin' / f'{service}-manage',
                   '--config-file', self._layout.control / f'{service}.conf',
                   *words])

    def _sql(self, statements: bytes) -> None:
        self._client('mariadb', standard_input=statements)

    def _client(self, program: str, *words: str,
                standard_input: bytes = b'') -> bytes:
        return self._run(
            [program, '--no-defaults', '--user=root',
             f'--socket={self._layout.control}/mariadb.sock', *words],
            standard_input)

    def _run(self, argv: Sequence[object],
             standard_input: bytes = b'') -> bytes:
        done = subprocess.run([str(word) for word in argv],
                              input=standard_input, capture_output=True)
        if done.returncode:
            said = (done.stdout + done.stderr).decode(errors='replace')
            raise layout.TestbedError(
                f"{' '.join(map(str, argv[:9]))} failed: {said[-500:]}")
        return done.stdout
