# SPDX-License-Identifier: Apache-2.0
"""Lines of the log, each of which has its sentence once."""

from __future__ import annotations

import logging

from oslo_config import cfg
from oslo_log import formatters
from oslo_log import log

_OURS = 'serifos'


class OnceFormatter(logging.Formatter):
    """Formats as another one, which may append the active exception.

    oslo.log does so to every warning and error that is logged while an
    exception is handled; our lines have its sentence already.
    """

    def __init__(self, inner: logging.Formatter) -> None:
        super().__init__()
        self._inner = inner

    def format(self, record: logging.LogRecord) -> str:
        text = self._inner.format(record)
        if record.exc_info or record.name.partition('.')[0] != _OURS:
            return text
        return text.removesuffix(f': {getattr(record, "error_summary", "")}')


def setup(conf: cfg.ConfigOpts) -> None:
    """Begins the log of a service, as its configuration says."""
    log.setup(conf, _OURS)
    for handler in logging.getLogger().handlers:
        if isinstance(handler.formatter, formatters.ContextFormatter):
            handler.setFormatter(OnceFormatter(handler.formatter))
