# SPDX-License-Identifier: Apache-2.0
"""Two hosts that share an SQLite file, as they would a server."""

from tests.unit.balancer import cloud
from tests.unit.balancer import hosts_behaviour


class HostsTest(hosts_behaviour.Behaviour, cloud.Case):

    @property
    def url(self):
        return f'sqlite:///{self.dir}/shared.sqlite'
