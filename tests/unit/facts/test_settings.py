# SPDX-License-Identifier: Apache-2.0
import ddt
import testtools

from serifos.facts.inventory import PoolStats
from serifos.facts.inventory import Type
from serifos.facts import settings


def of_type(**specs):
    return settings.TypeSettings.of(Type('gold', {
        f'serifos:{key}': value for key, value in specs.items()}))


def of_pool(**said):
    return settings.PoolSettings.of(PoolStats('a', 1, 1, capabilities={
        f'serifos_{key}': value for key, value in said.items()}))


@ddt.ddt
class TypeSettingsTest(testtools.TestCase):

    @ddt.data(({}, None), ({'balance': 'true'}, True),
              ({'balance': 'False'}, False), ({'balance': '<is> True'}, True),
              ({'balance': 'no'}, False), ({'balance': '1'}, True))
    @ddt.unpack
    def test_balance(self, specs, expected):
        self.assertIs(expected, of_type(**specs).balance)

    def test_nothing_is_said(self):
        said = of_type()
        self.assertEqual(settings.TypeSettings('gold'), said)
        self.assertIsNone(said.why_not())
        self.assertIn('does not say serifos:balance = true',
                      said.why_not(balance=False))

    def test_what_it_says_goes_before_the_option(self):
        self.assertIsNone(of_type(balance='yes').why_not(balance=False))
        self.assertEqual('its volume type gold says serifos:balance = false',
                         of_type(balance='off').why_not())

    @ddt.data('0', '86400', '3e7')
    def test_cool_down(self, text):
        self.assertEqual(float(text), of_type(cool_down=text).cool_down_s)

    @ddt.data('0', '0.3', '1')
    def test_min_gain(self, text):
        self.assertEqual(float(text), of_type(min_gain=text).min_gain)

    @ddt.data(({'balance': 'maybe'}, "serifos:balance 'maybe' is neither"),
              ({'min_gain': '10 %'}, "serifos:min_gain '10 %' is not a "),
              ({'min_gain': '30'}, 'from 0 to 1'),
              ({'balance': ''}, "serifos:balance '' is neither"),
              ({'cool_down': 'long'}, "serifos:cool_down 'long' is not a "),
              ({'cool_down': '-1'}, 'from 0 to'),
              ({'cool_down': 'nan'}, 'not a number'),
              ({'max_latency_us': '5 ms'}, "serifos:max_latency_us '5 ms'"))
    @ddt.unpack
    def test_what_cannot_be_used_is_told_and_holds_volumes(
            self, specs, words):
        said = of_type(**specs)
        self.assertIn(words, said.why_not())
        sentence, = said.sentences()
        self.assertThat(sentence, testtools.matchers.StartsWith(
            'Of volume type gold, serifos:'))
        self.assertIn(words, sentence)
        self.assertIn('its volumes stay', sentence)


@ddt.ddt
class PoolSettingsTest(testtools.TestCase):

    @ddt.data(({}, True), ({'balance': False}, False),
              ({'balance': 'false'}, False), ({'balance': True}, True))
    @ddt.unpack
    def test_balance(self, said, expected):
        self.assertIs(expected, of_pool(**said).balance)

    @ddt.data(0.8, '0.8')
    def test_max_fill(self, value):
        self.assertEqual(0.8, of_pool(max_fill=value).max_fill)

    @ddt.data(0, '0.5', 100)
    def test_hot_ratio(self, value):
        self.assertEqual(float(value), of_pool(hot_ratio=value).hot_ratio)

    @ddt.data({'hot_ratio': -0.1}, {'hot_ratio': 'hot'}, {'balance': 'some'},
              {'balance': [True]}, {'max_fill': 80}, {'max_fill': 0},
              {'max_fill': True}, {'max_fill': {}})
    def test_what_cannot_be_used_leaves_the_pool_out(self, said):
        found = of_pool(**said)
        self.assertFalse(found.balance)
        sentence, = found.sentences('node1@ssd#ssd')
        self.assertThat(sentence, testtools.matchers.StartsWith(
            f'Of pool node1@ssd#ssd, serifos_{[*said][0]} '))
