# SPDX-License-Identifier: Apache-2.0
"""How Sphinx builds the documentation of serifos."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / 'ext'))

extensions = [
    'commands',
    'openstackdocstheme',
    'oslo_config.sphinxconfiggen',
    'oslo_config.sphinxext',
]

project = 'serifos'
copyright = 'The serifos developers'

html_theme = 'openstackdocs'
html_static_path = ['_static']
html_theme_options = {'sidebar_search': True}
openstackdocs_auto_name = False
openstackdocs_auto_version = False
pygments_style = 'native'
smartquotes = False

man_pages = [
    (f'cli/{name}', name, said, '', 1) for name, said in (
        ('serifos-balancer', 'balance latency over the pools of a Cinder'),
        ('serifos-model', 'measure a device and model its latency'),
        ('serifos-sim', 'try balancing on simulated devices'),
        ('serifos-status', 'look whether all that serifos needs is there'))]

_ETC = pathlib.Path(__file__).parents[2] / 'etc' / 'serifos'
config_generator_config_file = str(_ETC / 'serifos-config-generator.conf')
sample_config_basename = '_static/serifos'
