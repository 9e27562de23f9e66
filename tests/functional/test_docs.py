# SPDX-License-Identifier: Apache-2.0
"""The documentation is built by doc/requirements.txt, and can be searched."""

import os
import pathlib
import shutil
import subprocess
import sys
import urllib.parse

from tests.functional import machine

try:
    from tests.functional import browser
except ImportError:
    browser = None

ROOT = pathlib.Path(__file__).parents[2]
LEFT_OUT = shutil.ignore_patterns(
    '.*', '__pycache__', '*.egg-info', 'build', 'quickstart')

# What operators search for, and the section of the FAQ that answers it.
ANSWERS = {
    'availability zone': 'does-it-keep-to-zones-and-volume-types',
    'backup': 'what-should-be-in-a-backup',
    'balancer dies': 'what-if-the-balancer-dies',
    'bandwidth limit': 'can-i-limit-the-bandwidth-of-copies',
    'boot volume': 'does-it-move-volumes-in-use-and-root-disks',
    'ceph': 'does-it-work-with-ceph',
    'data loss': 'can-it-lose-data',
    'downtime': 'is-there-a-downtime-for-tenants',
    'drain host': 'how-do-i-drain-a-storage-host',
    'dry run': 'is-there-a-dry-run',
    'encrypted volumes': 'does-it-move-encrypted-volumes',
    'exclude volume': 'how-do-i-exclude-a-volume-a-type-or-a-project',
    'grafana': 'where-are-logs-metrics-and-alerts',
    'high availability': 'can-it-run-on-several-controllers',
    'how do I stop it': 'how-do-i-stop-it',
    'how long does a migration take': 'how-long-does-a-migration-take',
    'maintenance window': 'can-it-move-volumes-only-at-night',
    'multi-attach': 'does-it-move-multi-attach-volumes',
    'multiattach': 'does-it-move-multi-attach-volumes',
    'noisy neighbour': 'who-is-the-noisy-neighbour',
    'permissions': 'which-rights-does-it-need',
    'production': 'is-it-ready-for-production',
    'rights': 'which-rights-does-it-need',
    'rollback': 'how-do-i-roll-back-a-plan',
    'snapshots': 'does-it-move-volumes-with-snapshots',
    'stuck migration': 'what-if-a-migration-hangs-or-fails',
    'thin provisioning': 'does-it-work-with-thin-provisioning',
    'undo': 'how-do-i-roll-back-a-plan',
    'uninstall': 'how-do-i-uninstall-it',
    'upgrade': 'how-do-i-upgrade-it',
    'why does nothing move': 'why-does-nothing-move',
}


class DocsTest(machine.MachineTest):

    def setUp(self):
        super().setUp()
        self.need(browser is not None,
                  'selenium or axe-core-python is not installed')
        self.browser = browser.Browser(self)

    def build(self):
        """The pages, by an environment of doc/requirements.txt."""
        copy, venv = self.directory / 'copy', self.directory / 'venv'
        # pip writes beside what it installs in editable mode.
        shutil.copytree(ROOT, copy, ignore=LEFT_OUT)
        self.run_in(copy, sys.executable, '-m', 'venv', venv)
        self.run_in(copy, venv / 'bin/pip', 'install', '-qq', '--no-compile',
                    '-r', 'doc/requirements.txt')
        pages = self.directory / 'html'
        self.run_in(ROOT, venv / 'bin/sphinx-build', '-q', '-W', '-b',
                    'html', 'doc/source', pages)
        return pages

    def run_in(self, directory, *command):
        done = subprocess.run(
            list(map(str, command)), cwd=directory, text=True,
            capture_output=True, timeout=1200,
            env={**os.environ, 'PBR_VERSION': '1.2.3'})
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)

    def search(self, address, query):
        """The first three addresses that are found."""
        self.browser.look(
            f'{address}?{urllib.parse.urlencode({"q": query})}', 1280,
            'light')
        machine.wait_until(lambda: self.browser.asked(
            'document.querySelector(".search-summary").innerText'))
        return self.browser.asked(
            'Array.from(document.querySelectorAll("#search-results li > a"),'
            ' each => each.href).slice(0, 3)')

    def test_what_operators_ask_is_found(self):
        pages = self.build()
        faq = (pages / 'faq.html').as_uri()
        self.browser.look(faq, 1280, 'light')
        sections = self.browser.asked(
            'Object.fromEntries(Array.from('
            'document.querySelectorAll(".docs-body section [id]"),'
            ' each => [each.id, each.closest("section").id]))')
        box = self.browser.asked(
            'document.querySelector(".docs-sidebar form").action')
        missing = {}
        for query, answer in ANSWERS.items():
            found = self.search(box, query)
            if answer not in {sections.get(each.removeprefix(f'{faq}#'))
                              for each in found}:
                missing[query] = found
        self.assertEqual({}, missing)
