# SPDX-License-Identifier: Apache-2.0

import ddt

from serifos import errors
from serifos.lab.relative import cached_command
from tests.unit import case


@ddt.ddt
class CgroupTest(case.DirectoryCase):

    @ddt.data(*cached_command.LIMITS)
    def test_its_memory(self, name):
        (self.dir / name).write_text('104857600\n')
        self.assertEqual(100, cached_command.memory_mib(self.dir))

    @ddt.data('max\n', '9223372036854771712\n', '', None)
    def test_no_bound(self, said):
        if said is not None:
            (self.dir / 'memory.max').write_text(said)
        self.assertIn('memory.max', str(self.assertRaises(
            errors.InputError, cached_command.memory_mib, self.dir)))
