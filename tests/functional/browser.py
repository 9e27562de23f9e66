# SPDX-License-Identifier: Apache-2.0
"""Pages in a headless Chromium: as a person sees them, light and dark."""

from __future__ import annotations

import json

from axe_core_python import base
from selenium import webdriver
from selenium.webdriver.chrome import service

from tests.functional import machine

WIDTHS = (400, 1280)
SCHEMES = ('light', 'dark')
_PATIENCE_S = 600


class Browser:
    """A browser of its own for one test; a MachineTest."""

    def __init__(self, test: machine.MachineTest) -> None:
        test.need_programs('chromium', 'chromedriver')
        options = webdriver.ChromeOptions()
        options.binary_location = machine.which('chromium')
        for argument in ('--headless=new', '--no-sandbox', '--disable-gpu',
                         '--disable-dev-shm-usage', '--no-first-run',
                         '--disable-background-networking',
                         f'--user-data-dir={test.directory}/browser'):
            options.add_argument(argument)
        options.set_capability(
            'goog:loggingPrefs', {'browser': 'ALL', 'performance': 'ALL'})
        self._driver = webdriver.Chrome(
            options=options,
            service=service.Service(machine.which('chromedriver')))
        test.addCleanup(self._driver.quit)
        # A page of 1,000 pools on a machine that does other work as well.
        self._driver.set_script_timeout(_PATIENCE_S)
        self._driver.command_executor.client_config.timeout = _PATIENCE_S

    def look(self, url: str, width: int, scheme: str) -> None:
        """Loads a page in a window of so many pixels."""
        self._driver.execute_cdp_cmd('Emulation.setDeviceMetricsOverride', {
            'width': width, 'height': 900, 'deviceScaleFactor': 1,
            'mobile': False})
        self._driver.execute_cdp_cmd('Emulation.setEmulatedMedia', {
            'features': [{'name': 'prefers-color-scheme', 'value': scheme}]})
        self._driver.get(url)

    def asked(self, script: str) -> object:
        """What an expression of JavaScript comes to."""
        return self._driver.execute_script(f'return {script}')

    def unfold(self) -> None:
        """Opens every folded table."""
        self._driver.execute_script(
            'for (const each of document.querySelectorAll("details")) '
            'each.open = true')

    def violations(self) -> list[str]:
        """What axe-core finds wrong in what is shown."""
        self._driver.execute_script(base.AXE_SCRIPT)
        found = self._driver.execute_async_script(
            'const done = arguments[0]; '
            'axe.run({resultTypes: ["violations"]})'
            '.then(done, error => done({error: String(error)}))')
        if 'error' in found:
            return [found['error']]
        return [f'{rule["id"]}: {node["html"][:200]}'
                for rule in found['violations'] for node in rule['nodes']]

    def console(self) -> list[str]:
        """What was written to the console since it was asked last."""
        return [entry['message']
                for entry in self._driver.get_log('browser')]

    def requests(self) -> set[str]:
        """The addresses that were asked for since that was asked last.

        Without those inside the browser, as of its own empty tab.
        """
        messages = [json.loads(entry['message'])['message']
                    for entry in self._driver.get_log('performance')]
        return {message['params']['request']['url'] for message in messages
                if message['method'] == 'Network.requestWillBeSent'
                and not message['params']['request']['url'].startswith(
                    ('chrome:', 'chrome-', 'data:', 'about:'))}
