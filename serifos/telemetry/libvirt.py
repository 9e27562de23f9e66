# SPDX-License-Identifier: Apache-2.0
"""Latency of attached volumes as QEMU sees it, by a libvirt exporter.

It is libvirt's time of a disk's requests over their number: what the storage
host's device shows, and iSCSI and the network. Nova gives each disk its
volume's id as the serial number, and exporters tell that in the labels of
``libvirt_domain_block_meta`` or ``libvirt_domain_block_stats_info``. One that
has no times and serial numbers (Debian's, of Kumina) gives nothing.
"""

from __future__ import annotations

import math

from keystoneauth1.session import Session
from oslo_log import log as logging

from serifos import errors
from serifos.facts import fields
from serifos.telemetry import http

LOG = logging.getLogger(__name__)

_STATS = 'libvirt_domain_block_stats_'
_DISK = 'instance, domain, target_device'
_SERIALS = (
    f'max by ({_DISK}, serial) ({{serial!="",__name__=~'
    f'"libvirt_domain_block_meta|{_STATS}info"}})')
_MOST_S = 1e6


class Libvirt:
    """The latencies that a Prometheus has of libvirt exporters.

    :param session: of :func:`.http.session`
    :param url: what stands before ``/api/v1/query``
    """

    def __init__(self, session: Session, url: str) -> None:
        self._session = session
        self._url = f'{url.rstrip("/")}/api/v1/query'

    def latency_us(self, window_s: float) -> dict[str, float]:
        """A disk's serial number → its mean over the window, µs.

        A disk without a request in it has none. Without an answer there is
        none at all, which is logged: nothing is planned by these.
        """
        try:
            return self._latency_us(window_s)
        except errors.CloudError as exc:
            LOG.warning('Latencies measured by QEMU are not known: %s', exc)
            return {}

    def _latency_us(self, window_s: float) -> dict[str, float]:
        window = f'[{math.ceil(window_s)}s]'
        query = (f'{_per_serial("time_seconds_total", window)} / '
                 f'{_per_serial("requests_total", window)}')
        doc = fields.Field(http.json(http.ask(
            self._session, self._url, 'POST', data={'query': query})))
        try:
            found = {
                series['metric']['serial'].name(): _seconds(series)
                for series in doc['data']['result'].items()}
        except ValueError as exc:
            raise errors.CloudError(
                f'{http.shown(self._url)} does not answer as a Prometheus '
                f'does ({exc}); is the URL right?') from None
        return {serial: 1e6 * seconds for serial, seconds in found.items()
                if 0 <= seconds <= _MOST_S}


def _per_serial(name: str, window: str) -> str:
    """Reads and writes a second, by the disk's serial number."""
    both = ' + '.join(f'sum by ({_DISK}) (rate({_STATS}{way}_{name}{window}))'
                      for way in ('read', 'write'))
    return (f'sum by (serial) (({both}) * on ({_DISK}) group_left (serial) '
            f'{_SERIALS})')


def _seconds(series: fields.Field) -> float:
    """:raises ValueError: where it is not a time and the text of a number"""
    try:
        _, value = series['value'].array()
        return float(value)
    except (OverflowError, TypeError, ValueError):
        raise series['value'].wrong('a time and a number') from None
