# SPDX-License-Identifier: Apache-2.0
"""tls.py ADDRESS PORT TO CERTIFICATE KEY: TLS in front of ADDRESS:TO."""

import socket
import socketserver
import ssl
import sys
import threading

address, port, behind, certificate, key = sys.argv[1:]
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)


def copy(source, target):
    try:
        while said := source.recv(65536):
            target.sendall(said)
    except OSError:
        pass
    finally:
        target.close()


class Handler(socketserver.BaseRequestHandler):

    def handle(self):
        with context.wrap_socket(self.request, server_side=True) as client:
            server = socket.create_connection((address, int(behind)))
            threading.Thread(target=copy, args=(server, client)).start()
            copy(client, server)


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True

    def handle_error(self, *_):
        """A client that does not trust us is what tests are for."""


with Server((address, int(port)), Handler) as here:
    here.serve_forever()
