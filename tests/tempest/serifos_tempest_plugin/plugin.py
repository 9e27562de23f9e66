# SPDX-License-Identifier: Apache-2.0
"""Where Tempest finds the scenario; there is no option of its own."""

import pathlib

from tempest.test_discover import plugins

HERE = pathlib.Path(__file__).parent


class Plugin(plugins.TempestPlugin):

    def load_tests(self):
        return str(HERE), str(HERE.parent)

    def register_opts(self, conf):
        pass

    def get_opt_lists(self):
        return []
