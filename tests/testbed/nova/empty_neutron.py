# SPDX-License-Identifier: Apache-2.0
"""empty_neutron.py ADDRESS PORT: Neutron, of a cloud without networks.

Nova asks it for the ports and networks of servers, and there are none.
"""

from http import server
import json
import sys


class EmptyLists(server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def do_GET(self):
        name = self.path.partition('?')[0].rstrip('/').rpartition('/')[2]
        if name in ('', 'v2.0'):
            found = {'versions': [{
                'id': 'v2.0', 'status': 'CURRENT', 'links': [{
                    'rel': 'self',
                    'href': 'http://{}:{}/v2.0/'.format(*sys.argv[1:])}]}]}
        else:
            found = {name.replace('-', '_'): []}
        said = json.dumps(found).encode()
        self.send_response(200)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(said)))
        self.end_headers()
        self.wfile.write(said)


server.ThreadingHTTPServer(
    (sys.argv[1], int(sys.argv[2])), EmptyLists).serve_forever()
