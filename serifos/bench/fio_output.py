# SPDX-License-Identifier: Apache-2.0
"""Runs in output of fio that exists already.

Jobs of a group that ran at the same time are a run; a ``stonewall`` begins
another group. fio prints each process of a job for itself, or, of a group
with ``group_reporting``, the sum of all under one job's options; which of
both it did is told by the processes' seconds, ``job_runtime``.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import itertools
import pathlib
import re
from typing import Any

from serifos.bench import fio_result
from serifos import errors
from serifos.facts import dataset
from serifos.facts import fields
from serifos.facts import strict_json
from serifos.facts import times
from serifos.facts import workload

LEAST_S = 0.5
"""Seconds that a run takes at least, as those of build do."""

_THINKS_AFTER_A_RAMP = (3, 35)
_SHARED = ('iops', 'read_iops', 'write_iops', 'read_bw_kib_s',
           'write_bw_kib_s', 'requests')
"""Figures of several processes that are sums."""

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


@dataclasses.dataclass(frozen=True)
class Output:
    """The runs of one output of fio.

    :param place: the device, or the disk or directory of the files
    :param at: seconds of the epoch
    :param left_out: why a run cannot be used, a clause each
    """

    fio: str
    place: str
    at: float
    runs: tuple[dataset.Sample, ...]
    left_out: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class _Job:
    """One entry of fio's list of jobs."""

    field: fields.Field
    options: Mapping[str, str]

    @property
    def name(self) -> str:
        return self.field['jobname'].name()

    @property
    def seconds(self) -> float:
        return max(self.field[side]['runtime'].number()
                   for side in ('read', 'write')) / 1000

    def tenants(self, thinks_after_a_ramp: bool
                ) -> list[tuple[workload.Workload, dict[str, Any]]]:
        """Its workload and figures, once for each of its processes."""
        asked = workload_of(self.options)
        if (asked.think_time_us and not thinks_after_a_ramp
                and ramp_s(self.options)):
            raise errors.InputError(
                'fio before 3.35 does not keep a thinktime after a ramp_time')
        seen = fio_result.figures(self.field, tails=False)
        if self.seconds < LEAST_S:
            raise errors.InputError(
                f'it measured {self.seconds:g} s, and {LEAST_S:g} s are the '
                'least')
        number = self._processes()
        seen |= {name: seen[name] / number for name in _SHARED}
        # All begin at once, so that those end together which ran so long.
        return [(asked, {**seen, 'ended_ms': 1000 * self.seconds})
                ] * number

    def _processes(self) -> int:
        number_asked = count(self.options)
        ran = self.field['job_runtime'].number() / 1000 / self.seconds
        for number in 1, number_asked:
            if 0.9 * number < ran < 1.05 * number:
                return number
        raise errors.InputError(
            f'its figures are the sum of {ran:.1f} processes, not of '
            f'numjobs={number_asked} (group_reporting adds up the jobs of a '
            'group)')


def read(text: str) -> Output:
    """The runs of an output in JSON, which other text may surround.

    :raises SerifosError: where nothing of it can be used
    """
    results = text.count('"fio version"')
    if not results:
        raise errors.FormatError(
            'It holds no result of fio in JSON (--output-format=json or '
            'json+).')
    if results > 1:
        raise errors.FormatError(
            f'It holds {results} results of fio; give each a file of its own.')
    doc = strict_json.within(text, 'jobs', 'fio', fio_result.FioError,
                             last=True)
    version = doc['fio version'].name()
    common = doc['global options'].texts()
    jobs = [_Job(job, of_job(common, job['job options'].texts()))
            for job in doc['jobs'].items(1)]
    groups = [[*group] for _, group in itertools.groupby(
        jobs, lambda job: job.field['groupid'].whole())]
    _refuse_at_once(groups)
    runs, left_out = [], []
    for group in groups:
        try:
            runs.append(_run(group, version))
        except errors.SerifosError as exc:
            left_out.append(str(exc))
    return Output(version, _place(doc, jobs), doc['timestamp'].number(),
                  tuple(runs), tuple(left_out))


def combined(outputs: Mapping[str, Output]) -> dataset.Dataset:
    """The runs of several outputs, by the names of their files.

    :raises InputError: where there is none, or they are of several devices
    """
    used = {name: output for name, output in outputs.items() if output.runs}
    if not used:
        raise errors.InputError(
            'No run of these files can be used; nothing is written.')
    first = {output.place: name for name, output in reversed(used.items())}
    if len(first) > 1:
        named = ' and '.join(f'{place} ({name})'
                             for place, name in sorted(first.items()))
        raise errors.InputError(
            f'The files are of {len(first)} devices, {named}; a model '
            'describes one: import the files of each into a dataset of its '
            'own.')
    return dataset.Dataset(
        dataset.Header(
            {'target': next(iter(first))},
            fio=', '.join(sorted({o.fio for o in used.values()})),
            created_at=times.text(min(o.at for o in used.values()))),
        tuple(run for output in used.values() for run in output.runs))


def _run(group: Sequence[_Job], version: str) -> dataset.Sample:
    found = re.match(r'fio-([0-9]{1,4})\.([0-9]{1,6})', version)
    thinks = found is not None and (
        int(found[1]), int(found[2])) >= _THINKS_AFTER_A_RAMP
    tenants, begins = [], set()
    for job in group:
        try:
            tenants += job.tenants(thinks)
            begins.add(begins_s(job.options))
        except errors.SerifosError as exc:
            raise errors.InputError(f'job {job.name}: {exc}') from None
    names = ', '.join(dict.fromkeys(job.name for job in group))
    if len(begins) > 1:
        raise errors.InputError(
            f'jobs {names}: they do not begin together (startdelay, '
            'ramp_time)')
    try:
        return fio_result.sample(
            [asked for asked, _ in tenants],
            max(job.seconds for job in group), [saw for _, saw in tenants])
    except fio_result.FioError as exc:
        raise errors.InputError(f'jobs {names}: {exc}') from None


def _refuse_at_once(groups: Sequence[Sequence[_Job]]) -> None:
    """Refuses groups that are parted for printing, and ran together."""
    elapsed = groups[0][0].field['elapsed'].number()
    if len(groups) > 1 and sum(map(_lasted_s, groups)) > elapsed:
        raise errors.FormatError(
            f'Its {len(groups)} groups of jobs took {elapsed:g} s, less than '
            'one after another: some ran at the same time (new_group), and '
            'fio does not print which.')


def _lasted_s(group: Sequence[_Job]) -> float:
    lasted = max(job.seconds for job in group)
    with contextlib.suppress(errors.InputError):
        lasted += max(begins_s(job.options) for job in group)
    return lasted


def _place(doc: fields.Field, jobs: Sequence[_Job]) -> str:
    found = sorted({place for job in jobs for place in _places(job.options)})
    if len(found) > 1:
        raise errors.FormatError(
            f'Its jobs ran in {len(found)} places, {", ".join(found)}, which '
            'may be different devices.')
    disks = doc['disk_util']
    names = [] if found[0].startswith('/dev/') or disks.value is None else [
        disk['name'].name() for disk in disks.items()]
    return ', '.join(sorted(names)) or found[0]


def _places(options: Mapping[str, str]) -> list[str]:
    directory = options.get('directory', '.')
    if 'filename' not in options:
        return [directory]
    return [name if name.startswith('/dev/')
            else str(pathlib.PurePath(directory, name).parent)
            for name in re.split(r'(?<!\\):', options['filename'])]


def of_job(common: Options, own: Options) -> dict[str, str]:
    """The options of a job, those of its own last, as fio obeys them."""
    return {**{name: value for name, value in common.items()
               if name not in own}, **own}


def workload_of(options: Options) -> workload.Workload:
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
