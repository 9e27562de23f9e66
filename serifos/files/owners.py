# SPDX-License-Identifier: Apache-2.0
"""Ownership of the state directory and of the files in it.

A verb that root runs works as the user whom the state directory belongs to:
what it makes there is that user's, and no symbolic link in there leads root
anywhere. Files that are made here are never made through a link.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import errno
import grp
import os
import pathlib
import pwd
import stat

from serifos import errors

_MODE = 0o640


def work_as_owner(directory: str | os.PathLike[str]) -> str | None:
    """Drops root's rights to the user and group of a directory, for good.

    :returns: who that is; None where nothing had to change
    """
    info = _other(directory)
    if info is None:
        return None
    name = _join_groups(info)
    os.setresgid(info.st_gid, info.st_gid, info.st_gid)
    os.setresuid(info.st_uid, info.st_uid, info.st_uid)
    return f'{name}:{_group(info.st_gid)}'


@contextlib.contextmanager
def as_owner(directory: str | os.PathLike[str]) -> Iterator[None]:
    """Within it, root works as the owner of a directory.

    For who reads there, and writes elsewhere afterwards.
    """
    info = _other(directory)
    if info is None:
        yield
        return
    groups, group = os.getgroups(), os.getegid()
    _join_groups(info)
    os.setegid(info.st_gid)
    os.seteuid(info.st_uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(group)
        os.setgroups(groups)


def _other(directory: str | os.PathLike[str]) -> os.stat_result | None:
    """Of a directory that root does not own, where root works; else None."""
    try:
        info = os.stat(directory)
    except OSError:
        return None
    return info if os.geteuid() == 0 and info.st_uid != 0 else None


def _join_groups(info: os.stat_result) -> str:
    name = _user(info.st_uid)
    try:
        os.initgroups(name, info.st_gid)
    except (OSError, KeyError):
        os.setgroups([info.st_gid])
    return name


def make_file(path: pathlib.Path) -> None:
    """Makes an empty file, mode 0640, where there is none.

    :raises InputError: where it cannot be, or is not a regular file
    """
    try:
        os.close(open_regular(path, os.O_RDONLY | os.O_CREAT))
    except OSError as exc:
        raise errors.InputError(
            f'{path} cannot be written: '
            f'{why_not(path) or exc.strerror}.') from None


def open_regular(path: pathlib.Path, flags: int) -> int:
    """A descriptor of a regular file, mode 0640 where it is made.

    :raises OSError: where it cannot be opened, is a symbolic link or is not
        a regular file
    """
    handle = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC
                     | os.O_NONBLOCK | os.O_NOCTTY, _MODE)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, 'it is not a regular file')
    return handle


def make_directory(path: pathlib.Path) -> None:
    """Makes a directory, mode 0750, where there is none.

    :raises InputError: where it cannot be, or is a symbolic link
    """
    try:
        path.mkdir(mode=0o750, exist_ok=True)
        if path.is_symlink():
            raise errors.InputError(
                f'{path} is a symbolic link; put a directory there.')
        mine = os.access(path, os.R_OK | os.W_OK | os.X_OK,
                         effective_ids=True)
    except OSError as exc:
        raise errors.InputError(
            f'The directory {path} cannot be made: '
            f'{why_not(path) or exc.strerror}.') from None
    if not mine:
        raise errors.InputError(
            f'The directory {path} cannot be used: {why_not(path)}.')


def why_not(path: pathlib.Path) -> str | None:
    """Why we may not read and write a file, and the remedy.

    None where that is not a question of permissions.
    """
    for there, needed in ((path.parent, os.R_OK | os.W_OK | os.X_OK),
                          (path, os.R_OK | os.W_OK)):
        with contextlib.suppress(FileNotFoundError):
            info = there.lstat()
            if stat.S_ISLNK(info.st_mode) and there == path:
                return (f'{path} is a symbolic link, which is not followed; '
                        'put the file itself there')
            if os.access(there, needed, effective_ids=True):
                continue
            return _barred(there, info, there.parent)
    return None


def _barred(path: pathlib.Path, info: os.stat_result,
            parent: pathlib.Path) -> str:
    owner, me = _user(info.st_uid), _user(os.geteuid())
    said = (f'{path} belongs to {owner}:{_group(info.st_gid)}, mode '
            f'{stat.S_IMODE(info.st_mode):04o}, and user {me} may not read '
            'and write it')
    if stat.S_ISDIR(info.st_mode):
        return f'{said}; run this as {owner}, or: chown {me} {path}'
    above = parent.stat()
    return (f'{said}; run as root: chown {_user(above.st_uid)}:'
            f'{_group(above.st_gid)} {path}')


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _group(gid: int) -> str:
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)
