# SPDX-License-Identifier: Apache-2.0
import os
import pathlib

import ddt
import fixtures
import testtools

from serifos import errors
from serifos.facts import names
from serifos.files import documents
from tests.unit.balancer import cloud
from tests.unit import case

FOREIGN = ('../x', '/etc/passwd', 'a/b', '', '.hidden', '.', '..', 'a\0b',
           'a\nb', 'x' * 251, 'µ' * 126, '\ud800', '\x1b[2J', None, 5, ['x'],
           b'x')


@ddt.ddt
class StemTest(testtools.TestCase):

    @ddt.data('intel-s3610', 'node1@ssd#ssd', 'a b', 'x' * 250, 'µ' * 125,
              'a\\b', 'a..b', '-', '$HOME', '%s')
    def test_a_name_is_a_file_in_the_directory(self, stem):
        self.assertIsNone(names.model_fault(stem))
        there = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        (there / f'{stem}.json').write_text('{}')
        self.assertEqual({stem}, documents.model_stems(there))

    @ddt.data(*FOREIGN)
    def test_what_is_none(self, stem):
        self.assertIsNotNone(names.model_fault(stem))
        error = self.assertRaises(
            errors.InputError, documents.latency_model, '/nowhere', stem)
        self.assertIn('cannot be a model of /nowhere', str(error))


class FilesTest(case.DirectoryCase):

    def setUp(self):
        super().setUp()
        documents.write_model(self.dir / 'good.json', cloud.MODEL)

    def test_each_broken_one_is_named_and_the_others_are_read(self):
        (self.dir / 'torn.json').write_text('{"schema": "serifos-mo')
        (self.dir / 'newer.json').write_text('{"schema": "serifos-model/9"}')
        (self.dir / 'folder.json').mkdir()
        os.mkfifo(self.dir / 'fifo.json')
        (self.dir / 'nowhere.json').symlink_to(self.dir / 'gone')
        (self.dir / 'bytes.json').write_bytes(b'\xff\xfe')
        (self.dir / '.hidden.json').write_text('{}')
        (self.dir / 'notes.txt').write_text('{}')
        stems = documents.model_stems(self.dir)
        self.assertEqual({'good', 'torn', 'newer', 'folder', 'fifo',
                          'nowhere', 'bytes'}, stems)
        models, broken = documents.latency_models(
            self.dir, stems | {'missing'})
        self.assertEqual({'good'}, set(models))
        self.assertEqual({*stems, 'missing'} - {'good'}, set(broken))
        for stem, why in broken.items():
            self.assertIn(str(self.dir / f'{stem}.json'), why)

    def test_no_directory_has_no_models(self):
        for there in self.dir / 'none', self.dir / 'good.json', '/x' * 5000:
            self.assertEqual(frozenset(), documents.model_stems(there))
