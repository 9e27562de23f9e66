# SPDX-License-Identifier: Apache-2.0
"""The pages in a real browser: readable, accessible, and by themselves."""

import json
import pathlib
import shutil
import threading

import ddt

from serifos.cmd.balancer import serve
from serifos import conf
from tests.functional import machine
from tests.unit.cmd import clouds
from tests.unit.cmd import command
from tests.unit.cmd import questions
from tests.unit.lab.screening import test_command as screenings
from tests.unit.lab.sim import test_evaluate

try:
    from tests.functional import browser
except ImportError:
    browser = None

AUDITED = (400, 'light'), (1280, 'dark')
EXAMPLES = pathlib.Path(__file__).parents[2] / 'etc/serifos/examples/paper'
LARGEST = 3_000_000
"""Bytes of a page of 1,000 pools and 10,000 volumes."""

EVIL = '"><script>document.title = "evil"</script><img src=/evil>'


@ddt.ddt
class PagesTest(machine.MachineTest):

    def setUp(self):
        super().setUp()
        self.need(browser is not None,
                  'selenium or axe-core-python is not installed')
        self.browser = browser.Browser(self)

    def report(self, pools, volumes=0, evil=False):
        """The page of a cloud."""
        state = self.directory / 'state'
        shutil.copytree(EXAMPLES / 'models', state / 'models')
        cloud = clouds.cloud(pools, volumes=volumes)
        if evil:
            for each in cloud['volumes']:
                each.update(name=EVIL, server=EVIL, project_id=EVIL)
        (state / 'cluster.json').write_text(json.dumps(cloud))
        file = self.directory / 'serifos.conf'
        file.write_text(f'[serifos]\nstate_dir = {state}\n'
                        f'models_dir = {state}/models\n')
        page = self.directory / 'cloud.html'
        code, _, err = command.balance(
            '--config-file', file, 'report', '--out', page)
        self.assertEqual(0, code, err)
        return page

    def dataset(self, ssd='SSD1', *options):
        """Runs of a simulated device."""
        path = self.directory / f'{"".join(map(str, options))}{ssd}.jsonl'
        code, _, err = command.simulate('dataset', ssd, path, *options)
        self.assertEqual(0, code, err)
        return path

    def check(self, page, most=100_000_000):
        """A file, at each width and in each scheme."""
        self.assertLess(page.stat().st_size, most)
        self.seen(page.as_uri())

    def seen(self, url):
        grounds = set()
        for scheme in browser.SCHEMES:
            for width in browser.WIDTHS:
                self.browser.look(url, width, scheme)
                where = f'{width} px, {scheme}'
                self.assertEqual(width, self.browser.asked(
                    'Math.max(document.documentElement.scrollWidth, '
                    'window.innerWidth)'), where)
                self.browser.unfold()
                self.assertEqual([], self.cut() if width == 1280 else [])
                # Nearly all the time that it takes: each width and each
                # scheme once.
                if (width, scheme) in AUDITED:
                    self.assertEqual([], self.browser.violations(), where)
                self.assertGreater(self.browser.asked(
                    'document.querySelector(".verdict").innerText.length'),
                    20, where)
                self.assertEqual([], self.browser.asked(
                    '[...document.querySelectorAll("svg[role=img]")]'
                    '.filter(each => !each.getAttribute("aria-label"))'
                    '.map(each => each.outerHTML.slice(0, 200))'), where)
            grounds.add(self.browser.asked(
                'getComputedStyle(document.body).backgroundColor'))
        self.assertEqual(2, len(grounds), grounds)
        self.assertEqual([], self.browser.console())
        self.assertEqual({url}, self.browser.requests())

    def cut(self):
        """Tables of a cloud whose columns are wider than the page."""
        return self.browser.asked(
            '[...document.querySelectorAll(".tools ~ * .wide")]'
            '.filter(each => each.scrollWidth > each.clientWidth)'
            '.map(each => each.ariaLabel)')

    @ddt.data((6, 0), (30, 380), (1000, 10_000))
    @ddt.unpack
    def test_of_a_cloud(self, pools, volumes):
        page = self.report(pools, volumes)
        self.check(page, LARGEST)
        self.assertEqual([], questions.unanswered(page.read_text()))

    def cells(self, table, column):
        """The cells of a column that are shown; tables by their summary."""
        return self.browser.asked(
            '[...[...document.querySelectorAll("details")].find(each => '
            f'each.innerText.startsWith({json.dumps(table)}))'
            '.querySelector("tbody").rows]'
            f'.map(row => row.cells[{column}].textContent)')

    def press(self, text, table=''):
        """Clicks on the first button that says so."""
        self.browser.asked(
            '[...document.querySelectorAll("button")].find(each => '
            f'each.textContent === {json.dumps(text)} && each.closest('
            '"details, section, p").textContent.includes('
            f'{json.dumps(table)})).click()')

    def search(self, text):
        self.browser.asked(
            '(() => { const input = document.querySelector("input"); '
            f'input.value = {json.dumps(text)}; '
            'input.dispatchEvent(new Event("input")); })()')

    def test_tables_are_sorted_and_searched(self):
        page = self.report(30, 380)
        self.browser.look(page.as_uri(), 1280, 'light')
        self.browser.unfold()
        names = self.cells('All 380', 0)
        self.assertEqual(100, len(names))
        self.press('Show all 380 rows')
        self.assertEqual(380, len(self.cells('All 380', 0)))
        for falls in True, False:
            self.press('outstanding', 'All 380')
            found = [float(each) for each in self.cells('All 380', 9)]
            self.assertEqual(sorted(found, reverse=falls), found)
        for text in ('mariadb-data-7', 'other-7', 'stor007 silver',
                     self.cells('All 380', 3)[5]):
            self.search(text)
            found = len(self.cells('All 380', 0))
            self.assertTrue(0 < found < 100, (text, found))
            self.assertTrue(self.browser.asked(
                '[...document.querySelectorAll("details:not(.found)")]'
                '.every(each => !each.open || !each.querySelector("thead"))'))
        self.search('of nobody')
        self.assertEqual([], self.cells('All 380', 0))
        self.search('')
        self.assertEqual(380, len(self.cells('All 380', 0)))
        self.press('stor003.rack-0')
        self.assertEqual({'stor003.rack-0'}, {*self.cells('All 380', 1)})
        self.assertEqual('stor003.rack-0', self.browser.asked(
            'document.querySelector("#hours b").textContent'))
        self.browser.look(page.as_uri(), 1280, 'light')
        self.assertEqual('"stor003.rack-0"', self.browser.asked(
            'document.querySelector("input").value'))
        self.press('Copy')
        self.assertEqual(
            'serifos-balancer plan --out plan.json && serifos-balancer apply '
            'plan.json', self.browser.asked('String(getSelection())'))
        self.assertEqual([], self.browser.console())

    def test_names_of_tenants_do_nothing(self):
        self.seen(self.report(30, evil=True).as_uri())
        self.search(EVIL)
        self.press('stor000.rack-0')
        self.assertNotEqual('evil', self.browser.asked('document.title'))
        self.assertEqual(0, self.browser.asked(
            'document.querySelectorAll("img").length'))

    def test_of_a_cloud_that_is_served(self):
        self.report(5)
        found = serve.server(serve.Pages(conf.load(
            [str(self.directory / 'serifos.conf')])), '127.0.0.1', 0)
        self.addCleanup(found.task_dispatcher.shutdown)
        self.addCleanup(found.close)
        threading.Thread(target=found.run, daemon=True).start()
        url = f'http://127.0.0.1:{found.effective_port}/'
        self.browser.look(url, 400, 'light')
        self.assertEqual(6, self.browser.asked(
            'Math.min(6, document.querySelectorAll("dt").length)'))
        self.assertIs(False, self.browser.asked(  # so its script may run
            'document.querySelector(".tools").hidden'))
        self.assertLessEqual(self.browser.requests(),
                             {url, f'{url}favicon.ico'})

    def test_of_a_model(self):
        dataset, model = self.dataset(), self.directory / 'm.json'
        code, _, err = command.model(
            'fit', dataset, '--kind', 'outstanding', '--out', model)
        self.assertEqual(0, code, err)
        code, _, err = command.model('report', model, dataset)
        self.assertEqual(0, code, err)
        self.check(self.directory / 'm.html')

    def test_of_kinds_that_are_compared(self):
        page = self.directory / 'p.html'
        code, _, err = command.model(
            'compare-kinds', self.dataset('SSD1', '--rounds', 3),
            self.dataset('SSD2'), '--no-tune', '--page', page,
            '--kind', 'outstanding', '--kind', 'cart', '--kind', 'tenant')
        self.assertEqual(0, code, err)
        self.check(page)

    def test_of_what_is_covered(self):
        dataset, page = self.dataset(), self.directory / 'p.html'
        code, _, err = command.model(
            'coverage', dataset, self.dataset('SSD2'), '--page', page)
        self.assertEqual(0, code, err)
        self.check(page)

    def test_of_devices_that_are_related(self):
        page, (runs, mail) = self.directory / 'p.html', (
            [self.dataset(ssd, *options) for ssd in ('SSD1', 'AGED')]
            for options in (('--sampled', 40, '--rounds', 2),
                            ('--mail', 20)))
        code, _, err = command.model(
            'relate', *runs, '--test', *mail, '--best', '--page', page)
        self.assertEqual(0, code, err)
        self.check(page)

    def test_of_a_network(self):
        page = self.directory / 'p.html'
        code, _, err = command.model(
            'calibrate', self.dataset(), '--out', self.directory / 'm.json',
            '--page', page)
        self.assertEqual(0, code, err)
        self.check(page)

    def test_of_settings(self):
        code, _, err = command.model(
            'fit', self.dataset(), '--kind', 'cart', '--tune',
            '--iterations', 2, '--jobs', 1, '--out',
            self.directory / 'm.json')
        self.assertEqual(0, code, err)
        self.check(self.directory / 'm.tune.html')

    def test_of_an_evaluation(self):
        code, _, err = command.simulate(
            'evaluate', '--cases', 1, '--sets', 10, '--tests', 1,
            *test_evaluate.CHEAP, '--out', self.directory)
        self.assertEqual(0, code, err)
        self.check(self.directory / 'evaluation.html')

    def test_of_a_screening(self):
        page, path = (self.directory / name
                      for name in ('p.html', 'x-screening.jsonl'))
        screenings.write(path)
        code, _, err = command.model(
            'screen', path, '--factorial', '--keys', 'io_depth,operation',
            '--page', page)
        self.assertEqual(0, code, err)
        self.check(page)
