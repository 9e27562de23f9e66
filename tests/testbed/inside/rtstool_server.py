# SPDX-License-Identifier: Apache-2.0
"""cinder-rtstool without its start: its own code, imported once.

A migration between hosts calls cinder-rtstool about twelve times, and in a
guest each start of Python with Cinder costs 1 to 4 s. bin/cinder-rtstool
sends its arguments here, one a line and a line with EOT after the last; the
answer is a line with the exit status, a line for stderr, then stdout.
"""

import contextlib
import importlib.util
import io
import pathlib
import socketserver
import sys
import threading
import traceback
import types

PORT = 3259
SITE = next(path for path in sys.path if path.endswith('site-packages'))


def load_rtstool():
    """cinder/cmd/rtstool.py alone: importing all of cinder takes seconds."""
    translation = types.ModuleType('cinder.i18n')
    translation._ = str
    translation.enable_lazy = lambda *_: None
    cinder = types.ModuleType('cinder')
    cinder.__path__ = []
    cinder.i18n = translation
    sys.modules['cinder'] = cinder
    sys.modules['cinder.i18n'] = translation
    spec = importlib.util.spec_from_file_location(
        'rtstool', pathlib.Path(SITE, 'cinder', 'cmd', 'rtstool.py'))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def call(rtstool, arguments):
    """(exit status, stderr, stdout) of one cinder-rtstool."""
    out, err, status = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        sys.argv = ['cinder-rtstool', *arguments]
        try:
            status = rtstool.main() or 0
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(
                end.code is not None)
        except Exception:
            traceback.print_exc()
            status = 1
    return status, err.getvalue(), out.getvalue()


class Handler(socketserver.StreamRequestHandler):

    def handle(self):
        arguments = []
        for line in self.rfile:
            text = line.decode().rstrip('\n')
            if text == '\x04':
                break
            arguments.append(text)
        with self.server.one_at_a_time:
            status, err, out = call(self.server.rtstool, arguments)
        err = err.replace('\n', ' | ')
        self.wfile.write(f'{status}\n{err}\n{out}'.encode())


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


with Server(('127.0.0.1', PORT), Handler) as here:
    here.rtstool = load_rtstool()
    here.one_at_a_time = threading.Lock()
    here.serve_forever()
