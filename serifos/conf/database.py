# SPDX-License-Identifier: Apache-2.0
"""[database]: where the journal and the plans are, by oslo.db."""

from oslo_config import cfg
from oslo_db import options

GROUP = cfg.OptGroup('database', title='Where the journal and the plans are')

OPTS = options.database_opts
