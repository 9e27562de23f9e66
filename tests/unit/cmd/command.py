# SPDX-License-Identifier: Apache-2.0
"""Runs a command in this process, as a shell would see it."""

import contextlib
import io
import logging

from serifos.cmd import balancer
from serifos.cmd import model as model_cmd
from serifos.lab.sim import main as sim


@contextlib.contextmanager
def captured():
    """(stdout, stderr) of a program, whose log ends with it."""
    out, err, root = io.StringIO(), io.StringIO(), logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        with (contextlib.redirect_stdout(out),
              contextlib.redirect_stderr(err)):
            yield out, err
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


def _run(main, arguments):
    with captured() as (out, err):
        code = main([str(argument) for argument in arguments])
    return code, out.getvalue(), err.getvalue()


def model(*arguments):
    """(exit code, stdout, stderr) of serifos-model."""
    return _run(model_cmd.main, arguments)


def balance(*arguments):
    """(exit code, stdout, stderr) of serifos-balancer."""
    return _run(balancer.main, arguments)


def simulate(*arguments):
    """(exit code, stdout, stderr) of serifos-sim."""
    return _run(sim.main, arguments)
