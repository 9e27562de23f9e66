# SPDX-License-Identifier: Apache-2.0
"""How Sphinx builds the documentation of serifos."""

import pathlib

extensions = [
    'openstackdocstheme',
    'oslo_config.sphinxconfiggen',
    'oslo_config.sphinxext',
]

project = 'serifos'
copyright = 'The serifos developers'

html_theme = 'openstackdocs'
html_static_path = ['_static']
openstackdocs_auto_name = False
openstackdocs_auto_version = False
pygments_style = 'native'

_ETC = pathlib.Path(__file__).parents[2] / 'etc' / 'serifos'
config_generator_config_file = str(_ETC / 'serifos-config-generator.conf')
sample_config_basename = '_static/serifos'
