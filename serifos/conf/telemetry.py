# SPDX-License-Identifier: Apache-2.0
"""[telemetry]: the source of activity of volumes."""

from typing import Any

from oslo_config import cfg

from serifos import plugins

GROUP = cfg.OptGroup('telemetry', title='The source of what volumes do')

MOST_WINDOW_S = 7 * 86400

SOURCES = {
    'scrape': 'the node_exporter of each storage host',
    'prometheus': 'a Prometheus server, or Aetos, that scrapes these '
                  'exporters',
    'gnocchi': "Ceilometer's disk.device.* metrics in Gnocchi; attached "
               'volumes only, and only idle ones unless '
               'disk.device.{read,write}.latency are polled too'}
"""Those of serifos itself."""

OPTS = [
    cfg.StrOpt(
        'source', default='scrape',
        choices=plugins.choices(SOURCES, plugins.TELEMETRY),
        help='Source of telemetry.'),
    cfg.IntOpt(
        'window', default=600, min=30, max=MOST_WINDOW_S,
        help='Seconds before the newest reading over which activity is '
             'averaged. Longer is smoother and slower to show a change.'),
    cfg.FloatOpt(
        'interval', default=15.0, min=1.0, max=86400.0,
        help='Seconds between readings: how often exporters are scraped, or '
             'the scrape_interval of Prometheus. A host without a reading for '
             'three intervals counts as unseen, so with prometheus it must '
             'not be smaller than the real one.'),
    cfg.FloatOpt(
        'timeout', default=10.0, min=0.1, max=3600.0,
        help='Seconds from the connection to the last byte of an answer, '
             'retries included. An exporter or server that takes longer is '
             'left out; raise it on slow networks.'),
    cfg.DictOpt(
        'endpoints', default={}, secret=True,
        help="With scrape: Cinder's hosts (before the @) and the URLs of "
             'their node_exporters, as in '
             'node1:http://10.0.0.1:9100/metrics,'
             'node2:http://10.0.0.2:9100/metrics. '
             'With ?collect[]=diskstats&collect[]=stat&collect[]=time an '
             'exporter reads nothing else. Pools of hosts that are missing '
             'here are not balanced.'),
    cfg.StrOpt(
        'prometheus_url', default='http://localhost:9090', secret=True,
        help='With prometheus: the URL before /api/v1/query.'),
    cfg.StrOpt(
        'prometheus_label', default='instance',
        help='With prometheus: the label that names the storage host. A port '
             'is ignored; if no name matches fully, the part before the first '
             'dot is compared.'),
    cfg.DictOpt(
        'prometheus_hosts', default={},
        help="With prometheus: Cinder's hosts and the whole value of that "
             'label, where they differ, as in node1:10.0.0.1:9100.'),
    cfg.StrOpt(
        'prometheus_selector', default='',
        help='With prometheus: more label matchers, as in job="node". Needed '
             'if Prometheus scrapes a host more than once. Do not match on a '
             'pod, which is replaced some day.'),
    cfg.StrOpt(
        'libvirt_prometheus_url', secret=True,
        help='With any source: the URL before /api/v1/query of a Prometheus '
             'that scrapes the libvirt exporters of the compute hosts. The '
             'latency of each attached volume is then also shown as QEMU '
             'measures it; plans do not use it. Unset: not read.'),
    cfg.StrOpt(
        'gnocchi_url', default='http://localhost:8041', secret=True,
        help='With gnocchi: the URL before /v1.'),
    cfg.FloatOpt(
        'gnocchi_granularity', default=300.0, min=1.0, max=604800.0,
        help='With gnocchi: granularity, in seconds, of the archive policy to '
             "read; Ceilometer's polling interval."),
    cfg.StrOpt(
        'auth', default='none', choices=[
            ('none', 'no credentials'),
            ('basic', 'username and password'),
            ('keystone', 'a token, by the credentials in [cinder]')],
        help='How to authenticate to the source.'),
    cfg.StrOpt('username', default='', help='User name, with auth = basic.'),
    cfg.StrOpt('password', default='', secret=True,
               help='Password, with auth = basic.'),
    cfg.StrOpt(
        'cafile',
        help="PEM file of certificates to trust instead of the machine's."),
    cfg.StrOpt('certfile', help='PEM file of our own certificate.'),
    cfg.StrOpt('keyfile', help="PEM file of that certificate's key."),
    cfg.BoolOpt('insecure', default=False,
                help='Whether to trust any certificate. Only for trials: '
                     'passwords and tokens may be sent to a stranger.'),
]


def installed(source: str) -> Any:
    """The telemetry source of another package.

    :raises InputError: where it cannot be loaded
    """
    return plugins.load(plugins.TELEMETRY, source)
