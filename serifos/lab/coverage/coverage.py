# SPDX-License-Identifier: Apache-2.0
"""The runs of workloads that a benchmark does not cover.

Every run is a point of its characteristics. Independent components [1]_ of
these are clustered by k-means on their Euclidean distance, as Park et al.
[2]_ do; a cluster in which the benchmark has no run is not covered, nor is a
run further from the benchmark than its own runs are from one another. The
components are scaled to the same variance, so that what the characteristics
have in common counts once. Independence only turns the axes: clusters and
distances are those of whitened principal components.

.. [1] A. Hyvärinen, E. Oja: Independent Component Analysis: Algorithms and
   Applications. Neural Networks 13 (2000).
.. [2] N. Park, W. Xiao, K. Choi, D. J. Lilja: A Statistical Evaluation of
   the Impact of Parameter Selection on Storage System Benchmarks.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
import dataclasses
import math
import statistics
import warnings

import numpy as np
import numpy.typing as npt
from scipy.cluster import hierarchy
from scipy.spatial import distance

from serifos import errors
from serifos.facts.dataset import Dataset
from serifos.facts.dataset import Sample
from serifos.facts.workload import Workload

Floats = npt.NDArray[np.float64]

LEAST = 6
"""The least number of runs to cluster."""

ENOUGH = 20
"""The least number of different runs of a benchmark for its reach.

Of fewer, 95 % are all of them: the reach is then the widest gap."""

CHARACTERISTICS = ('count', 'write_pct', 'log2 block_kib', 'log2 iodepth',
                   'random_pct', 'log think_time_us',
                   'log latency_us')
"""Of a run: means over its workloads. The latency only where all runs are
of one machine, for then it is a property of the workload too."""

WRITTEN = {'all': lambda w: 1.0, 'reads': lambda w: 100 - w.write_pct,
           'writes': lambda w: w.write_pct}
"""The weight of a workload, of all requests, of reads and of writes."""

MOST_CLUSTERS = 12
_NEIGHBOURS = 95  # per cent of the benchmark's runs, nearer than its reach
_EXPLAINED = 0.95  # of the variance, by the components that are kept
_SILHOUETTE_OF = 2000


@dataclasses.dataclass(frozen=True)
class Coverage:
    """The coverage of several sets of runs by the first, a benchmark.

    :param names: the characteristics that vary
    :param components: float[n, c], a row for each run
    :param owners: int[n], which set a run is of; 0 is the benchmark
    :param clusters: int[n], from 0
    :param nearest: int[n], the nearest run of the benchmark
    :param distances: float[n], to it, in standard deviations
    :param different: how many different runs the benchmark has
    :param reach: how far from the benchmark a run is covered, in the same;
        None where it has too few to tell
    :param tree: scipy's linkage (Ward) of the clusters' centres
    """

    names: tuple[str, ...]
    components: Floats
    owners: npt.NDArray[np.intp]
    clusters: npt.NDArray[np.intp]
    nearest: npt.NDArray[np.intp]
    distances: Floats
    different: int
    reach: float | None
    tree: Floats

    @property
    def by_cluster(self) -> npt.NDArray[np.bool_]:
        """bool[n]: whether the benchmark has a run in the same cluster."""
        return np.isin(self.clusters, self.clusters[self.owners == 0])

    @property
    def by_distance(self) -> npt.NDArray[np.bool_]:
        """bool[n]: whether the benchmark has a run within its reach.

        All true where its reach is not known.
        """
        if self.reach is None:
            return np.ones(len(self.distances), bool)
        return self.distances <= self.reach + 1e-9

    @property
    def covered(self) -> npt.NDArray[np.bool_]:
        """bool[n]: whether it has one by cluster as well as by distance."""
        return self.by_cluster & self.by_distance

    def is_unsure(self, owner: int) -> bool:
        """Whether the share is an upper bound, as the reach is not known."""
        return self.reach is None and bool(
            (self.distances[self.owners == owner] > 1e-9).any())

    def share(self, owner: int) -> float:
        """The share of a set's runs that the benchmark covers."""
        return float(self.covered[self.owners == owner].mean())


def points(datasets: Sequence[Dataset], which: str = 'all'
           ) -> tuple[list[Floats], tuple[str, ...]]:
    """A float[n, m] for each dataset, and the names of the columns.

    :param which: all, reads or writes: with either of the last two, the
        runs that have such requests, and means weighted by them
    """
    header, *others = (d.header for d in datasets)
    same = not any(header.differences(other) for other in others)
    width = len(CHARACTERISTICS) - (not same)
    weight = WRITTEN[which]
    return ([np.array([_point(s, weight)[:width] for s in d.valid()
                       if any(map(weight, s.workloads))])
             .reshape(-1, width) for d in datasets],
            CHARACTERISTICS[:width])


def _point(sample: Sample, weight: Callable[[Workload], float]
           ) -> tuple[float, ...]:
    weights = [*map(weight, sample.workloads)]

    def mean(name: str) -> float:
        return statistics.fmean(
            (getattr(w, name) for w in sample.workloads), weights)
    return (float(sample.count), mean('write_pct'),
            math.log2(mean('block_kib')), math.log2(mean('iodepth')),
            mean('random_pct'), math.log1p(mean('think_time_us')),
            math.log(sample.latency_us))


def coverage(sets: Sequence[Floats], names: Sequence[str],
             clusters: int | None = None, seed: int = 0,
             reach: float | None = None) -> Coverage:
    """The coverage of several sets of runs by the first.

    :param sets: float[n, m] each, a row for each run
    :param names: of the m characteristics
    :param clusters: how many; None for the number of the best silhouette
    :param reach: how far from the benchmark a run is covered, in standard
        deviations; None for the distance within which 95 % of its different
        runs have another, if these are :data:`ENOUGH`
    :raises InputError: where there is too little to tell apart
    """
    rows = np.vstack(sets)
    if len(rows) < LEAST:
        raise errors.InputError(
            f'{len(rows)} runs are too few to cluster; give datasets of '
            f'{LEAST} or more in all.')
    varies = rows.std(axis=0) > 1e-9 * np.abs(rows).max(axis=0)
    if not varies.any():
        raise errors.InputError(
            'All runs are of the same workload, so there are no clusters; '
            'give datasets that vary.')
    components = independent(rows[:, varies], seed)
    labels = _clusters(components, clusters, seed)
    owners = np.repeat(np.arange(len(sets)), [len(s) for s in sets])
    apart = distance.cdist(components, components[owners == 0])
    nearest = apart.argmin(axis=1)
    centres = np.array([components[labels == c].mean(axis=0)
                        for c in range(labels.max() + 1)])
    different = _different(sets[0], names)
    if reach is None and len(different) >= ENOUGH:
        reach = _spacing(components[owners == 0][different])
    return Coverage(
        tuple(name for name, v in zip(names, varies) if v), components,
        owners, labels, nearest, apart[np.arange(len(rows)), nearest],
        len(different), reach, hierarchy.linkage(centres, 'ward'))


def independent(rows: Floats, seed: int = 0) -> Floats:
    """float[n, c]: independent components of unit variance.

    As many as explain 95 % of the variance of the standardised rows.
    Euclidean distances between them are those of the whitened rows whatever
    rotation the search for independence ends in.
    """
    from sklearn import decomposition
    from sklearn import exceptions
    standard = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    variances = np.linalg.svd(standard, compute_uv=False) ** 2
    explained = np.cumsum(variances) / variances.sum()
    number = int(np.searchsorted(explained, _EXPLAINED - 1e-12)) + 1
    search = decomposition.FastICA(
        number, whiten='unit-variance', max_iter=1000, random_state=seed,
        whiten_solver='svd')
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', exceptions.ConvergenceWarning)
        return np.asarray(search.fit_transform(standard))


def _different(rows: Floats, names: Sequence[str]) -> npt.NDArray[np.intp]:
    """The first of the runs of each workload."""
    asked = [i for i, name in enumerate(names) if 'latency' not in name]
    return np.unique(rows[:, asked].round(9), axis=0, return_index=True)[1]


def _spacing(points: Floats) -> float:
    """The usual distance between neighbours."""
    apart = distance.cdist(points, points)
    np.fill_diagonal(apart, np.inf)
    return float(np.percentile(apart.min(axis=1), _NEIGHBOURS))


def _clusters(points: Floats, number: int | None,
              seed: int) -> npt.NDArray[np.intp]:
    from sklearn import cluster
    from sklearn import metrics
    import threadpoolctl
    different = len(np.unique(points.round(9), axis=0))
    most = min(MOST_CLUSTERS, different - 1, len(points) - 1)
    if number is not None and not 2 <= number <= max(2, different):
        raise errors.InputError(
            f'{number} clusters cannot be made of {different} different '
            f'runs; give 2 to {different}.')

    def means(k: int) -> npt.NDArray[np.intp]:
        return cluster.KMeans(
            k, n_init=10, random_state=seed).fit_predict(points)
    # Of so few points, threads cost more than they compute.
    limits = threadpoolctl.threadpool_limits
    if number is not None or most < 3:
        with limits(1):
            return means(number or 2)
    rng = np.random.default_rng(seed)
    some = (np.arange(len(points)) if len(points) <= _SILHOUETTE_OF
            else rng.choice(len(points), _SILHOUETTE_OF, replace=False))

    def fitness(labels: npt.NDArray[np.intp]) -> float:
        if len(set(labels[some])) < 2:
            return -1.0
        return float(metrics.silhouette_score(points[some], labels[some]))
    with limits(1):
        return max((means(k) for k in range(2, most + 1)), key=fitness)
