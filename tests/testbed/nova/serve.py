# SPDX-License-Identifier: Apache-2.0
"""serve.py MODULE ADDRESS PORT: a service's WSGI application, by threads."""

import importlib
import socketserver
import sys
from wsgiref import simple_server


class ThreadingServer(socketserver.ThreadingMixIn, simple_server.WSGIServer):
    daemon_threads = True
    request_queue_size = 64

    def server_bind(self):
        # WSGIServer's own asks for the name of the address.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address
        self.setup_environ()


class QuietHandler(simple_server.WSGIRequestHandler):

    def address_string(self):
        return self.client_address[0]


module, address, port = sys.argv[1:]
sys.argv[1:] = []
application = importlib.import_module(module).application
with simple_server.make_server(
        address, int(port), application, ThreadingServer,
        QuietHandler) as here:
    here.serve_forever()
