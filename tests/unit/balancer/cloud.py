# SPDX-License-Identifier: Apache-2.0
"""A simulated cloud with a balancer in front of it, for the tests."""

from __future__ import annotations

import dataclasses
import logging

import fixtures

from serifos.balancer.leader import no_proof
from serifos.balancer.observe import Observer
from serifos.balancer.round import Balancer
from serifos.database import connection
from serifos.database import journal
from serifos.database import marks
from serifos.database import plans
from serifos.facts.inventory import PoolStats
from serifos.facts.inventory import Record
from serifos.facts.workload import Workload
from serifos.files import documents
from serifos.model.model import Model
from tests.fakes import cinder as fake
from tests.fakes import settings
from tests.unit import case

NOW = 1_800_000_000.0
A, B, C = (f'{name}@ssd#ssd' for name in 'abc')
MODEL = Model(
    'flat', 'consolidation', {'5+': {'sum_block_kib': 10}},
    {'write_pct': (0, 100), 'block_kib': (1, 1024), 'iodepth': (0, 64),
     'count': (1, 10)}, {'mre': 0.1})


def busy(block_kib, latency_us=None):
    """Eight requests outstanding, of a latency that nobody measures."""
    return Workload(50, block_kib, 8,
                    iops=2000 if latency_us is None else 8e6 / latency_us,
                    latency_us=latency_us)


def record(name, pool=A, **others):
    return Record(name, others.pop('size_gib', 1.0),
                  others.pop('status', 'available'), pool=pool,
                  project_id='p', **others)


class Case(case.DirectoryCase):
    """Three pools; u and v are busy on the first, w idles on the second."""

    def setUp(self):
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger(level=logging.INFO))
        models = self.dir / 'models'
        models.mkdir()
        documents.write_model(models / 'flat.json', MODEL)
        self.now, self.slept = NOW, 0.0
        self.stop_after = None
        self.cinder = self.cloud([record('u'), record('v'), record('w', B)])
        self.settings = settings.balancer(
            self.dir, models, auto=True, batch=1, settle_s=0.0,
            timeouts=settings.Timeouts(poll_s=1.0, timeout_s=60.0,
                                       timeout_per_gib_s=60.0, grace_s=20.0))

    def cloud(self, records, workloads=None, names=(A, B, C), models=(),
              **others):
        if workloads is None:
            workloads = {'u': busy(64), 'v': busy(32)}
        model_of = dict.fromkeys(names, 'flat') | dict(models)
        pools = [PoolStats(name, 100.0, 100.0, backend_name='ssd',
                           model=model_of[name], capabilities={
                               'volume_backend_name': 'ssd',
                               'location_info': 'LVMVolumeDriver:'
                               f'{name[0]}:vg-{name[0]}:default:0'})
                 for name in names]
        return fake.Cinder(pools, records, lambda: self.now, workloads,
                           **others)

    def crowd(self, names, *others):
        """A cloud with as many busy volumes on the first pool, and others."""
        self.cinder = self.cloud([*map(record, names), *others],
                                 dict.fromkeys(names, busy(64)))

    def rounds(self, count):
        for _ in range(count):
            self.now += 300
            self.balancer.round()

    def pause(self, seconds):
        self.now += seconds
        self.slept += seconds
        return self.stop_after is not None and self.slept >= self.stop_after

    @property
    def balancer(self):
        """A new one each time, as after a restart: files alone remain."""
        return self.made()

    def made(self, pause=None, prove=no_proof, history=None,
             **changes):
        """A balancer.

        :param changes: fields of its observer that are not the usual ones
        """
        return Balancer.of(Observer(**{
            'cinder': self.cinder, 'telemetry': self.cinder,
            'journal': self.journal(), 'settings': self.settings,
            'clock': lambda: self.now, **changes}), self.plans,
            pause or self.pause, prove, history)

    def diagnose(self, *asked):
        return self.balancer.observer.diagnose(*asked)

    def recover(self, diagnosis):
        self.balancer.carrier.recover(diagnosis)

    @staticmethod
    def after(recent, balancer):
        """The plan of a round after others, and what the next one gets."""
        decision = balancer.decide(recent)
        return balancer.act(decision), decision.recent

    def journal(self):
        state_dir = self.settings.state_dir
        return journal.Journal(
            self.shared, lambda: self.now, memory=marks.Memory((
                marks.Observation(self.settings.cluster_file),
                marks.Lock(state_dir / 'lock'))))

    @property
    def plans(self):
        return plans.Plans(self.shared)

    @property
    def shared(self):
        file = self.settings.state_dir / 'journal.sqlite'
        return connection.Database(f'sqlite:///{file}')

    def set(self, **changes):
        self.settings = dataclasses.replace(self.settings, **changes)

    def homes(self):
        return {record.id: record.pool
                for record in self.cinder.inventory().records}

    def refused(self):
        """Volume → why the plan of another round leaves it."""
        return {refusal.volume: refusal.reason
                for refusal in self.balancer.round().refused}

    def kinds(self):
        return [entry.kind for entry in self.entries()]

    def entries(self):
        return self.journal().entries()
