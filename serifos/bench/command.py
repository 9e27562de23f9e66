# SPDX-License-Identifier: Apache-2.0
"""Run programs: arguments in, captured output out.

The one place where serifos starts programs; what builds the arguments and
parses the output is pure.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import os
import shutil
import signal
import subprocess
import tempfile
import time

from oslo_log import log

from serifos import errors

LOG = log.getLogger(__name__)

_PATH = os.pathsep.join(('/usr/sbin', '/sbin'))
_KEPT = ('HOME', 'TMPDIR', 'LD_LIBRARY_PATH', 'LD_PRELOAD',
         'LVM_SYSTEM_DIR')
"""The variables of our environment that programs get: paths."""

_MESSAGE = 300
_LOOK_S = 0.2


@dataclasses.dataclass(frozen=True)
class Result:
    """Exit code and output of a program; the code is None if it was killed."""

    code: int | None
    out: str
    err: str

    @property
    def message(self) -> str:
        """The end of standard error, else of standard output, on one line."""
        text = ' '.join((self.err.strip() or self.out.strip()).split())
        return text[-_MESSAGE:] or 'no output'


def found(program: str) -> bool:
    return shutil.which(program, path=_environment()['PATH']) is not None


def run(argv: Sequence[str], timeout_s: float = 60,
        accept: Sequence[int] = (0,)) -> str:
    """The standard output of a program.

    :param accept: exit codes that are not a failure
    :raises ToolError: where it is missing, fails or hangs
    """
    result, = together([argv], timeout_s)
    if result.code is None:
        raise errors.ToolError(
            f'{" ".join(argv)} did not end within {timeout_s:g} s and was '
            'killed; see whether the device still answers.')
    if result.code not in accept:
        raise errors.ToolError(
            f'{" ".join(argv)} failed: {result.message}')
    return result.out


def together(argvs: Sequence[Sequence[str]], timeout_s: float,
             die_with_us: bool = False, inherit: Sequence[int] = (),
             typed: str = '',
             look: Callable[[int], bool] | None = None) -> list[Result]:
    """Starts programs at once and waits for all of them.

    Each is a session of its own: a Ctrl-C is only ours, and what it
    started is killed with it at the deadline, or when we are interrupted.

    :param die_with_us: the kernel kills them even where we are killed
    :param inherit: descriptors of ours that they have too
    :param typed: what each reads from its standard input
    :param look: called with the id of each process some times a second
        until it has seen enough; what it raises ends all of them
    :raises ToolError: where a program is missing
    """
    deadline = time.monotonic() + timeout_s
    with contextlib.ExitStack() as stack:
        running = []
        for argv in argvs:
            LOG.debug('running %s', argv)
            out = stack.enter_context(tempfile.TemporaryFile())
            err = stack.enter_context(tempfile.TemporaryFile())
            read = stack.enter_context(_typed(typed))
            process = _start(argv, (read, out.fileno(), err.fileno()),
                             die_with_us, inherit)
            stack.callback(_kill, process)
            running.append((process, out, err))
        if look is not None:
            _look([process for process, _, _ in running], deadline, look)
        codes = [_wait(process, deadline) for process, _, _ in running]
        for process, _, _ in running:
            _kill(process)
        return [Result(code, _text(out), _text(err))
                for code, (_, out, err) in zip(codes, running)]


@contextlib.contextmanager
def _typed(text: str) -> Iterator[int]:
    """A descriptor for the standard input of a program, which is a text."""
    with tempfile.TemporaryFile() as file:
        file.write(text.encode())
        file.seek(0)
        yield file.fileno()


def _start(argv: Sequence[str], streams: tuple[int, int, int],
           die_with_us: bool, inherit: Sequence[int]
           ) -> subprocess.Popen[bytes]:
    read, out, err = streams
    try:
        return subprocess.Popen(
            [*(_dying() if die_with_us else ()), *argv],
            stdin=read, stdout=out, stderr=err, env=_environment(),
            start_new_session=True, pass_fds=inherit)
    except FileNotFoundError:
        raise errors.ToolError(
            f'{argv[0]} is not installed; install it (on Debian: apt-get '
            f'install {_PACKAGES.get(argv[0], argv[0])}).') from None
    except OSError as exc:
        raise errors.ToolError(
            f'{argv[0]} cannot be run: {exc.strerror}.') from None


def _dying() -> list[str]:
    """The prefix by which the kernel kills a program when we end.

    A function of ours between fork and exec would do it too, and keep
    Python from starting programs without copying its own memory map: four
    of them then begin seconds apart on a slow machine, and not together.
    """
    program = shutil.which('setpriv', path=os.pathsep.join(
        (_environment()['PATH'], os.defpath)))
    if program is None:
        raise errors.ToolError(
            'setpriv is not installed; install it (on Debian: apt-get '
            'install util-linux).')
    return [program, '--pdeathsig', 'KILL']


def _look(processes: Sequence[subprocess.Popen[bytes]], deadline: float,
          look: Callable[[int], bool]) -> None:
    while processes and time.monotonic() < deadline:
        processes = [process for process in processes
                     if process.poll() is None and not look(process.pid)]
        if processes:
            time.sleep(_LOOK_S)


def _wait(process: subprocess.Popen[bytes], deadline: float) -> int | None:
    try:
        return process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return None


def _kill(process: subprocess.Popen[bytes]) -> None:
    # The leader stays a zombie until it is waited for, so that the group
    # is still ours; after a wait it is gone, and nothing is signalled.
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _text(file: tempfile._TemporaryFileWrapper[bytes]) -> str:
    file.seek(0)
    return file.read().decode('utf-8', 'replace')


def _environment() -> Mapping[str, str]:
    """Without what changes the output of programs.

    Such as POSIXLY_CORRECT, LVM_REPORT_FD, LIBSMARTCOLS_JSON and languages.
    """
    # Tools of the system stand in sbin, which a user's PATH may leave out.
    path = os.environ.get('PATH', '')
    return {**{name: os.environ[name] for name in _KEPT
               if name in os.environ}, 'LC_ALL': 'C',
            'PATH': os.pathsep.join(filter(None, (path, _PATH)))}


_PACKAGES = {
    'nvme': 'nvme-cli', 'lsblk': 'util-linux', 'wipefs': 'util-linux',
    **dict.fromkeys(('vgs', 'lvs', 'lvcreate', 'lvremove'), 'lvm2')}
"""Where a program is not in the Debian package of its own name."""
