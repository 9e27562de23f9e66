# SPDX-License-Identifier: Apache-2.0
"""One database, by oslo.db: SQLite, MariaDB, MySQL or PostgreSQL.

A connection lives no longer than its transaction, of which there are a few
in a minute: none is old enough for a server to have closed it, and none is
shared with a process that was forked. A deadlock, which is what Galera's
conflicts are to oslo.db, is tried again; SQLite has one writer at a time, the
others wait.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import functools
import inspect
import logging
import pathlib
import shlex
import sqlite3  # before root takes another user's rights
from typing import Any
from typing import TypeVar

from oslo_db import api
from oslo_db.sqlalchemy import engines
import sqlalchemy
from sqlalchemy import exc as sa_exc

from serifos.database import columns
from serifos import errors
from serifos.files import owners

# It logs with a traceback what we report in a sentence.
logging.getLogger('oslo_db.sqlalchemy.exc_filters').setLevel(logging.CRITICAL)

T = TypeVar('T')

_BUSY_S = 20
"""For which SQLite waits for another process."""

_IDLE_S = 10
"""After which a server ends the transaction of a process that was stopped in
it: its locks would keep every other balancer from leading."""

_SESSION = {
    'mysql': (f'SET SESSION innodb_lock_wait_timeout = {_BUSY_S}',
              f'SET SESSION idle_transaction_timeout = {_IDLE_S}'),
    'postgresql': (f"SET lock_timeout = '{_BUSY_S}s'",
                   f"SET idle_in_transaction_session_timeout = '{_IDLE_S}s'")}
"""What a server is asked for at the beginning of a connection; MySQL, unlike
MariaDB, does not know the second."""

_ENGINE = frozenset(inspect.signature(engines.create_engine).parameters) - {
    # A round that fails is followed by another, which asks again.
    'sql_connection', 'max_retries', 'retry_interval'}

_DRIVERS = {'mysql': 'mysql+pymysql', 'mariadb': 'mariadb+pymysql',
            'postgresql': 'postgresql+psycopg2'}
"""Where a URL names none; SQLAlchemy's own choice changes with its release."""

_UNKNOWN_VARIABLE = 1193  # an error of MySQL

_EXTRAS = {'pymysql': 'mysql', 'psycopg2': 'postgresql'}
"""Which extra of ours brings a driver."""


@dataclasses.dataclass(frozen=True)
class Content:
    """What a database is for, as errors name it.

    :param option: that names the database
    :param pragmas: of SQLite; what is committed is on disk in any case
    :param kept: whether a file that is damaged stays where it is, for a
        person to decide; else it is set aside, and a new one begun
    """

    name: str
    option: str
    pragmas: tuple[str, ...]
    kept: bool = True


JOURNAL = Content('journal', '[database] connection',
                  ('synchronous = EXTRA',))
"""Its directory is synced too when a transaction ends."""

HISTORY = Content('history', '[history] connection',
                  ('journal_mode = WAL', 'synchronous = FULL'), kept=False)
"""It is read for seconds, in which it can be written."""


@dataclasses.dataclass(frozen=True)
class Database:
    """A database.

    :param url: SQLAlchemy's
    :param options: of oslo.db
    :raises InputError: where the URL cannot be used
    """

    url: str = dataclasses.field(repr=False)
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    content: Content = JOURNAL

    def __post_init__(self) -> None:
        self.name  # noqa: B018  it is parsed

    @functools.cached_property
    def _url(self) -> sqlalchemy.URL:
        try:
            url = sqlalchemy.engine.make_url(self.url)
            url = url.set(drivername=_DRIVERS.get(
                url.drivername, url.drivername))
            url.get_dialect()
        except (sa_exc.ArgumentError, ImportError, ValueError):
            raise errors.InputError(
                f'The database of the {self.content.name} cannot be used: '
                f'{self.content.option} is not a URL that SQLAlchemy can '
                'use; give one such as '
                'mysql+pymysql://USER:PASSWORD@HOST/DATABASE, or leave it '
                'unset.') from None
        if url.get_backend_name() == 'sqlite' and (
                url.database in (None, '', ':memory:')):
            raise errors.InputError(
                f'A {self.content.name} in memory is lost with its process; '
                f'give {self.content.option} a file, or leave it unset.')
        return url

    @property
    def name(self) -> str:
        """What to call it in a sentence: a file, or a URL without secrets."""
        if self.file is not None:
            return str(self.file)
        shown = self._url.set(query={})
        return shown.render_as_string(hide_password=True)

    @property
    def file(self) -> pathlib.Path | None:
        """The file of SQLite; None where the database is a server's."""
        if self._url.get_backend_name() != 'sqlite':
            return None
        return pathlib.Path(self._url.database or '')

    def exists(self) -> bool:
        """Whether it may hold anything: a server always may."""
        return self.file is None or self.file.exists()

    def run(self, work: Callable[[sqlalchemy.Connection], T],
            write: bool = False) -> T:
        """The result of a function that runs in one transaction.

        It may be run again where another transaction was in the way.

        :param write: whether the file of SQLite is made where there is none
        :raises InputError: where the file cannot be used
        :raises ToolError: where the driver is not installed
        :raises CloudError: where a server does not answer, or refuses
        """
        if write and self.file is not None:
            owners.make_file(self.file)
        said, opened = self.options.get, self._inode

        @api.wrap_db_retry(
            max_retries=said('db_max_retries', 20),
            retry_interval=said('db_retry_interval', 1),
            inc_retry_interval=said('db_inc_retry_interval', True),
            max_retry_interval=said('db_max_retry_interval', 10),
            retry_on_deadlock=True)
        def once() -> T:
            with self._engine.begin() as connection:
                if write and self.file is not None:
                    _write_alone(connection)
                return work(connection)
        try:
            return once()
        except errors.SerifosError:
            raise
        except Exception as exc:  # each driver has its own, of odd URLs too
            if self.file is not None and _damaged(exc):
                raise self._damage(_said(exc), opened) from None
            raise self._sentence(exc) from None
        finally:
            if '_engine' in self.__dict__:
                self._engine.dispose()

    def prepare(self, look: Callable[[sqlalchemy.Connection], T],
                make: Callable[[sqlalchemy.Connection], None]) -> T:
        """Makes the tables where they are not there.

        :param look: what it finds is false where they are not
        :returns: what was found
        :raises SerifosError: where they cannot be made
        """
        failed = None
        for _ in range(5):
            if self.exists() and (found := self.run(look)):
                return found
            try:
                self.run(make, write=True)
            except errors.SerifosError as exc:
                # Two that make it at once are in each other's way.
                failed = exc
        if failed is not None:
            raise failed
        return self.run(look)

    def make(self, table: sqlalchemy.Table) -> None:
        """Makes a table, and those made with it, where it is not there.

        :raises SerifosError: where they cannot be made
        """
        self.prepare(
            lambda connection: sqlalchemy.inspect(connection).has_table(
                table.name),
            table.metadata.create_all)

    @functools.cached_property
    def _engine(self) -> sqlalchemy.Engine:
        try:
            engine = engines.create_engine(
                self._url, max_retries=0, **{
                    name: value for name, value in self.options.items()
                    if name in _ENGINE})
        except ModuleNotFoundError as exc:
            raise errors.ToolError(
                f'The database of the {self.content.name} needs {exc.name}, '
                'which is not installed; install it' + (
                    f' with pip install serifos[{_EXTRAS[exc.name]}].'
                    if exc.name in _EXTRAS else ', or name another driver.')
            ) from None
        sqlalchemy.event.listen(engine, 'connect', functools.partial(
            _begin, backend=self._url.get_backend_name(),
            pragmas=self.content.pragmas))
        return engine

    @property
    def _inode(self) -> int | None:
        """Tells the file of SQLite from another one of its name."""
        with contextlib.suppress(OSError):
            return None if self.file is None else self.file.stat().st_ino
        return None

    def _damage(self, said: str, opened: int | None) -> errors.InputError:
        """The error of a damaged SQLite file; a history is set aside first."""
        name, file = self.content.name, self.file
        if self.content.kept:
            quoted, aside = (shlex.quote(str(path)) for path in (
                file, file.parent / 'damaged'))
            return errors.InputError(
                f'The {name} {file} is damaged ({said}); nothing is '
                'requested from Cinder until it can be read. Stop '
                'serifos-balancer, and put a backup in its place, or begin '
                f'without it: mkdir -p {aside} && mv {quoted}* {aside}/; then '
                'start it, and run serifos-balancer resume.')
        aside = file.with_name(f'{file.name}.damaged')
        if self._inode == opened:  # else another process was faster
            try:
                _set_aside(file, aside)
            except OSError as exc:
                return errors.InputError(
                    f'The {name} {file} is damaged ({said}), and cannot be '
                    f'set aside: {owners.why_not(file) or exc.strerror}.')
        return errors.InputError(
            f'The {name} {file} is damaged ({said}); it is set aside as '
            f'{aside}, and a new one is begun.')

    def _sentence(self, exc: Exception) -> errors.SerifosError:
        said = _said(exc)
        if self._url.password:
            said = said.replace(str(self._url.password), errors.MASK)
        if self.file is not None:
            return errors.InputError(
                f'The {self.content.name} {self.file} cannot be used: '
                f'{owners.why_not(self.file) or said}.')
        return errors.CloudError(
            f'The database of the {self.content.name}, {self.name}, cannot '
            f'be used: {said}; look at {self.content.option}.')


def pieces(rows: Sequence[T], most: int = 500) -> Iterator[Sequence[T]]:
    """As many rows at a time as one statement takes."""
    return (rows[first:first + most] for first in range(0, len(rows), most))


def _reason(exc: Exception) -> Exception:
    """The error of the driver, without those that wrap it."""
    inner = getattr(exc, 'inner_exception', None) or exc
    return getattr(inner, 'orig', None) or inner


def _said(exc: Exception) -> str:
    reason = _reason(exc)
    return str(reason.args[-1] if reason.args else reason).rstrip('.')


def _damaged(exc: Exception) -> bool:
    """Whether a file of SQLite holds what nobody wrote there."""
    reason = _reason(exc)
    code = getattr(reason, 'sqlite_errorcode', 0) & 0xff
    return isinstance(reason, columns.Wrong) or code in (
        sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or (
        code == sqlite3.SQLITE_ERROR and _said(exc).startswith('no such '))


def _set_aside(file: pathlib.Path, aside: pathlib.Path) -> None:
    """Renames a file of SQLite and those beside it, over an earlier one.

    :raises OSError: where it cannot be
    """
    file.replace(aside)
    for ending in '-wal', '-shm', '-journal':
        with contextlib.suppress(FileNotFoundError):
            file.with_name(file.name + ending).replace(
                aside.with_name(aside.name + ending))


def _write_alone(connection: sqlalchemy.Connection) -> None:
    """Begins a transaction of SQLite anew, as its only writer.

    One that reads before it writes would fail at once, however long SQLite is
    to wait, where another wrote in between.
    """
    for statement in ('COMMIT', 'BEGIN IMMEDIATE'):
        connection.exec_driver_sql(statement)


def _text(data: bytes) -> str:
    """A text of SQLite, which keeps any bytes as one."""
    return data.decode(errors='backslashreplace')


def _begin(connection: Any, _: object, backend: str,
           pragmas: Sequence[str]) -> None:
    """Makes SQLite durable, and bounds how long a server's locks are held."""
    if backend == 'sqlite':
        connection.text_factory = _text
        for pragma in (f'busy_timeout = {_BUSY_S * 1000}', *pragmas):
            connection.execute(f'PRAGMA {pragma}')
    for statement in _SESSION.get(backend, ()):
        with contextlib.closing(connection.cursor()) as cursor:
            try:
                cursor.execute(statement)
            except connection.OperationalError as exc:
                if exc.args[0] != _UNKNOWN_VARIABLE:
                    raise
        connection.commit()
