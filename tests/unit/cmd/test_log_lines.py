# SPDX-License-Identifier: Apache-2.0

import logging

from serifos.cmd.balancer import run
from serifos import conf
from serifos import errors
from tests.unit import case


def levels():
    return {name: logger.level for name, logger
            in logging.Logger.manager.loggerDict.items()
            if isinstance(logger, logging.Logger)}


def restore(before):
    """Other tests hear loggers that oslo.log makes quiet."""
    for name in levels():
        logging.getLogger(name).setLevel(before.get(name, logging.NOTSET))


class LogLinesTest(case.DirectoryCase):

    def setUp(self):
        super().setUp()
        root = logging.getLogger()
        self.addCleanup(setattr, root, 'handlers', root.handlers)
        self.addCleanup(root.setLevel, root.level)
        self.addCleanup(restore, levels())
        root.handlers = []
        file = self.dir / 'serifos.conf'
        self.log = self.dir / 'serifos.log'
        file.write_text(f'[DEFAULT]\nlog_file = {self.log}\n')
        run.setup(conf.load([str(file)]))

    def logged(self, name, error, **how):
        try:
            raise error
        except Exception as exc:
            logging.getLogger(name).error('It failed: %s', exc, **how)
        return self.log.read_text()

    def test_a_sentence_is_in_its_line_once(self):
        for error in errors.InputError('Give another.'), OSError('Full.'):
            line = self.logged('serifos.x', error).splitlines()[-1]
            self.assertTrue(line.endswith(f'It failed: {error}'), line)

    def test_a_traceback_has_its_summary(self):
        text = self.logged('serifos.x', OSError('Full.'), exc_info=True)
        self.assertIn('It failed: Full.: OSError: Full.\n', text)
        self.assertIn('Traceback', text)

    def test_the_lines_of_libraries_are_theirs(self):
        self.assertIn('It failed: Full.: OSError: Full.',
                      self.logged('tooz', OSError('Full.')))
