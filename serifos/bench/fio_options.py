# SPDX-License-Identifier: Apache-2.0
"""The workload of a fio job, from the options that fio prints.

fio prints an option that was given without a value (``time_based``,
``stonewall``) not at all, and of an option no default.
"""

from __future__ import annotations

from collections.abc import Mapping
import re

from serifos import errors
from serifos.facts import workload

Options = Mapping[str, str]

_ENGINES = {'libaio': True, 'io_uring': True, 'psync': False,
            'pvsync': False, 'pvsync2': False, 'sync': False}
"""Whether requests of an engine queue."""

_WRITE_PCT = {'read': 0.0, 'randread': 0.0, 'write': 100.0,
              'randwrite': 100.0, 'rw': None, 'readwrite': None,
              'randrw': None}
"""Percent of writes by ``rw``, None where another option says it."""

_READ = frozenset(
    'rw rwmixread rwmixwrite percentage_random bs direct buffered ioengine '
    'iodepth numjobs thinktime startdelay ramp_time'.split())

_WITHOUT_EFFECT = frozenset(
    'allow_file_create allow_mounted_write allrandrepeat bwavgtime '
    'clat_percentiles clocksource cpus_allowed cpus_allowed_policy '
    'create_fsync create_on_open create_serialize description directory '
    'disable_clat disable_slat disk_util end_fsync exit_what exitall '
    'exitall_on_error fadvise_hint fallocate filename filename_format '
    'filesize fixedbufs fsync_on_close group_reporting gtod_cpu invalidate '
    'io_size iomem_align iopsavgtime lat_percentiles log_avg_msec '
    'log_hist_msec log_max_value log_offset log_unix_epoch loops mem '
    'mem_align name new_group nice nonvectored norandommap nrfiles '
    'numa_cpu_nodes numa_mem_policy number_ios offset offset_increment '
    'opendir openfiles overwrite per_job_logs percentile_list '
    'random_generator randrepeat randseed refill_buffers registerfiles '
    'runtime scramble_buffers significant_figures size slat_percentiles '
    'stonewall thread time_based unique_filename unlink userspace_reap '
    'write_bw_log write_hist_log write_iops_log write_lat_log'.split())

_CLAUSES = {
    'bssplit': 'its requests are of several sizes (bssplit)',
    'bsrange': 'its requests are of several sizes (bsrange)',
    'verify': 'it reads back what it wrote (verify)'}

_OFF = ('0', 'none')

_UNITS_S = {'us': 1e-6, 'ms': 1e-3, 's': 1.0, 'm': 60.0, 'h': 3600.0,
            'd': 86400.0}
_SHIFTS = {'': 0, 'k': 10, 'm': 20, 'g': 30}


def of_job(common: Options, own: Options) -> dict[str, str]:
    """The options of a job, those of its own last, as fio obeys them."""
    return {**{name: value for name, value in common.items()
               if name not in own}, **own}


def asked(options: Options) -> workload.Workload:
    """The workload of each of the job's processes.

    :raises InputError: with a clause, where a dataset cannot describe it
    """
    _refuse_unknown(options)
    kind = options.get('rw', 'read')
    if kind not in _WRITE_PCT:
        raise errors.InputError(
            f'its rw={kind} is none of {", ".join(_WRITE_PCT)}')
    write_pct, think_us = _WRITE_PCT[kind], 1e6 * _seconds(
        options, 'thinktime', 'us')
    depth = _depth(options)
    if think_us and depth > 1:
        raise errors.InputError(
            'it thinks only when none of its requests is outstanding '
            '(thinktime with an iodepth over 1)')
    return workload.Workload(
        _mixed(options) if write_pct is None else write_pct,
        _block_kib(options), depth,
        _whole(options, 'percentage_random', 100, 0, 100)
        if kind.startswith('rand') else 0.0, think_time_us=think_us)


def count(options: Options) -> int:
    """The number of the job's processes."""
    return _whole(options, 'numjobs', 1, 1, 4096)


def begins_s(options: Options) -> float:
    """The seconds after which it counts its requests."""
    return _seconds(options, 'startdelay', 's') + ramp_s(options)


def ramp_s(options: Options) -> float:
    """The seconds for which it runs before."""
    return _seconds(options, 'ramp_time', 's')


def _refuse_unknown(options: Options) -> None:
    for name, value in options.items():
        if name not in _READ | _WITHOUT_EFFECT and value not in _OFF:
            raise errors.InputError(_CLAUSES.get(
                name, 'import does not know what its option '
                f'{name}={value} does to a load'))
    if options.get('direct') != '1' and options.get('buffered') != '0':
        raise errors.InputError(
            'it went through the page cache (direct=1 is not among its '
            'options)')


def _depth(options: Options) -> int:
    engine = options.get('ioengine', 'psync')
    depth = _whole(options, 'iodepth', 1, 1, 2 ** 20)
    if engine not in _ENGINES:
        raise errors.InputError(
            f'its ioengine={engine} is none of {", ".join(_ENGINES)}')
    if depth > 1 and not _ENGINES[engine]:
        raise errors.InputError(
            f'its ioengine {engine} keeps one request outstanding, whatever '
            f'the iodepth, here {depth}')
    return depth


def _mixed(options: Options) -> float:
    last = [name for name in options if name in ('rwmixread', 'rwmixwrite')]
    if not last:
        return 50.0
    share = _whole(options, last[-1], 50, 0, 100)
    return share if last[-1] == 'rwmixwrite' else 100 - share


def _block_kib(options: Options) -> float:
    text = options.get('bs', '4k')
    found = re.fullmatch('([0-9]{1,12})([kmg]?)b?', text.lower())
    if found is None or not int(found[1]):
        raise errors.InputError(
            f'its bs={text} is not one size such as 4k or 1m')
    return (int(found[1]) << _SHIFTS[found[2]]) / 1024


def _whole(options: Options, name: str, default: int, least: int,
           most: int) -> int:
    text = options.get(name, str(default))
    if not re.fullmatch('[0-9]{1,9}', text) or not (
            least <= int(text) <= most):
        raise errors.InputError(
            f'its {name}={text} is not a whole number from {least} to {most}')
    return int(text)


def _seconds(options: Options, name: str, unit: str) -> float:
    text = options.get(name, '0')
    found = re.fullmatch('([0-9]{1,9})(us|ms|s|m|h|d)?', text.lower())
    if found is None:
        raise errors.InputError(
            f'its {name}={text} is not one time such as 500ms or 2s')
    return int(found[1]) * _UNITS_S[found[2] or unit]
