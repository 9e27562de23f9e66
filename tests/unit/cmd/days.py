# SPDX-License-Identifier: Apache-2.0
"""The cluster of the examples, of which the days before are known."""

import json
import pathlib

from serifos.cmd.balancer import stored_history
from serifos import conf
from serifos.facts.history import Series
from serifos.facts import times
from tests.unit import case

EXAMPLES = pathlib.Path(__file__).parents[3] / 'etc/serifos/examples/paper'


class DaysCase(case.DirectoryCase):
    """A configuration whose history is kept in the directory."""

    def setUp(self):
        super().setUp()
        self.cluster = json.loads((EXAMPLES / 'cluster.json').read_text())
        self.at = times.parse(self.cluster['observed_at'])
        self.conf()

    def conf(self, *lines, window=86400):
        self.file = self.dir / 'serifos.conf'
        self.file.write_text('\n'.join((
            '[serifos]', f'state_dir = {self.dir}', '[balancer]',
            f'window = {window}', *lines)))

    def past(self, idle=(), hours=24):
        """As :func:`past`."""
        return past(self.cluster, self.at, idle, hours)

    def keep(self, series):
        self.assertTrue(keep(self.file, series))


def past(cluster, at, idle=(), hours=24):
    """All volumes read 100 times a second, 8 ms each, but the idle.

    :param cluster: the document of an observation
    :param at: until when, seconds of the epoch
    """
    volumes = [each['id'] for each in cluster['volumes']]
    found = Series.empty(volumes, at - 3600 * hours, at, 60)
    for figure, rate in enumerate((1.0, 100, 0, 16384e2, 0, 0.8, 0)):
        found.sums[figure] = 60 * rate
    found.sums[1:, :, [volumes.index(volume) for volume in idle]] = 0
    return found


def keep(file, series):
    """Keeps what volumes did where a configuration says.

    :param file: the configuration
    :returns: whether it was kept
    """
    store = stored_history.store(conf.load([str(file)]))
    return store.add(series, store.until())
