# SPDX-License-Identifier: Apache-2.0
"""[database]: where the journal and the plans are, by oslo.db."""

from oslo_config import cfg
from oslo_db import options

GROUP = cfg.OptGroup(
    'database', title='Where the journal and the plans are', help=(
        'The database of the journal and the plans; unset: journal.sqlite in '
        '[serifos] state_dir. Pools, retries and the other options of oslo.db '
        'are listed in '
        'https://docs.openstack.org/oslo.db/latest/reference/opts.html.'))

OPTS = options.database_opts

SHOWN = [opt for opt in OPTS if opt.name == 'connection']
"""Options that the sample configuration shows."""
