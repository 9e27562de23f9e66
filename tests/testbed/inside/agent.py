# SPDX-License-Identifier: Apache-2.0
"""The command server of a guest, on port 22.

A POST's body is a bash script. The answer is what it printed, its exit
status the header ``X-Status``. The request's ``X-Timeout`` are the seconds
after which the script and all that it started in its group is killed (124).
"""

from http import server
import os
import signal
import subprocess


class Agent(server.BaseHTTPRequestHandler):

    def log_message(self, *_):
        pass

    def do_POST(self):
        script = self.rfile.read(int(self.headers['Content-Length']))
        status, said = run(script, float(self.headers['X-Timeout']))
        self.send_response(200)
        self.send_header('X-Status', str(status))
        self.send_header('Content-Length', str(len(said)))
        self.end_headers()
        self.wfile.write(said)


def run(script, seconds):
    process = subprocess.Popen(
        ['/bin/bash', '-s'], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, process_group=0)
    try:
        said, _ = process.communicate(script, timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        said, _ = process.communicate()
        return 124, said
    return process.returncode, said


server.ThreadingHTTPServer(('', 22), Agent).serve_forever()
