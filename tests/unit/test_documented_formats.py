# SPDX-License-Identifier: Apache-2.0
"""serifos reads the files that the documentation shows."""

import json
import pathlib
import re
import textwrap

from serifos.facts.workload import Workload
from serifos.files import documents
from serifos.lab.relative.relation import Relation
from serifos.lab.relative.relation import RELATION_SCHEMA
from tests.unit import case

PAGE = pathlib.Path(__file__).parents[2] / 'doc/source/reference/formats.rst'

BLOCK = re.compile(r'^\.\. code-block:: json\n\n((?:   .*\n|\n)+)', re.M)


class DocumentedFormatsTest(case.DirectoryCase):

    def of(self, kind):
        """Paths of files with the documented examples of a kind."""
        for number, block in enumerate(BLOCK.findall(PAGE.read_text())):
            text = textwrap.dedent(block).strip() + '\n'
            if f'"serifos-{kind}/1"' in text:
                path = self.dir / f'{kind}-{number}'
                path.write_text(text)
                yield path

    def test_datasets(self):
        whole, small = map(documents.read_dataset, self.of('dataset'))
        self.assertEqual('INTEL SSDSC2BX40', whole.header.device['model'])
        workload, = whole.samples[0].workloads
        self.assertEqual((25, 4, 8, 100, 0), workload.pattern)
        self.assertEqual([2], [s.count for s in small.valid()])

    def test_model(self):
        model, = map(documents.read_model, self.of('model'))
        load = model.load([])
        self.assertEqual(0, model.predict(load))
        self.assertEqual((1, 10), model.range['count'])

    def test_relation(self):
        path, = self.of('relation')
        relation = documents.read_document(
            path, 'relation', RELATION_SCHEMA, Relation.from_json)
        seen = Workload(30, 16, iops=2000, latency_us=4000)
        self.assertEqual(1.2, relation.factor('latency_us', seen))

    def test_cluster(self):
        cluster, = map(documents.read_cluster, self.of('cluster'))
        self.assertEqual(8, cluster.volumes[0].workload.outstanding)
        self.assertEqual('node1@ssd#ssd', cluster.volumes[0].pool)

    def test_plan(self):
        path, = self.of('plan')
        plan = documents.read_plan(path)
        self.assertEqual(json.loads(path.read_text()), plan.to_json())
        documents.write_plan(self.dir / 'out', plan)
