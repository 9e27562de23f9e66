# SPDX-License-Identifier: Apache-2.0
"""How Sphinx builds the release notes of serifos."""

extensions = [
    'openstackdocstheme',
    'reno.sphinxext',
]

project = 'serifos release notes'
copyright = 'The serifos developers'

html_theme = 'openstackdocs'
openstackdocs_auto_name = False
openstackdocs_auto_version = False
