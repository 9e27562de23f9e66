# SPDX-License-Identifier: Apache-2.0
import json
import math

import ddt
import hypothesis
from hypothesis import strategies
import testtools

from serifos import errors
from serifos.facts import strict_json

FINITE = strategies.recursive(
    strategies.none() | strategies.booleans()
    | strategies.integers(-10 ** 300, 10 ** 300)
    | strategies.floats(allow_nan=False, allow_infinity=False)
    | strategies.text(),
    lambda inner: strategies.lists(inner)
    | strategies.dictionaries(strategies.text(), inner))


def _numbers(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _numbers(item)
    elif isinstance(value, (int, float)):
        yield value


@ddt.ddt
class StrictJsonTest(testtools.TestCase):

    @ddt.named_data(
        ('nan', 'NaN', 'NaN is not a finite number'),
        ('infinity', '[-Infinity]', '-Infinity is not a finite number'),
        ('large', '{"a": 1e400}', '1e400 is not a finite number'),
        ('negative', '-1e999999', '-1e999999 is not a finite number'),
        ('digits', '9' * 400, '999999999999... of 400 characters is no'),
        ('more_digits', '9' * 9000, '999999999999... of 9000 characters is'),
        ('deep_list', '[' * 100_000, 'nested too deeply'),
        ('deep_object', '{"a":' * 100_000, 'nested too deeply'),
        ('cut', '{', 'line 1, column 2'),
        ('empty', '', 'it is not JSON'),
        ('twice', '{"a": 1, "b": 2, "a": 3}', "has the key 'a' twice"),
        ('half', r'{"a": ["\ud800"]}', 'half a character'),
        ('half_key', r'{"\uDFFF": 1}', 'half a character'),
        ('half_in_text', '["\ud800"]', 'half a character'),
        ('binary', b'\xff\xfe\xff', 'it is not UTF-8 text'))
    @ddt.unpack
    def test_what_cannot_be_computed_with_is_refused(self, text, words):
        exc = self.assertRaises(ValueError, strict_json.loads, text)
        self.assertIn(words, str(exc))
        self.assertLess(len(str(exc)), 200)

    @hypothesis.given(FINITE)
    def test_what_is_finite_is_read_as_json_reads_it(self, value):
        text = json.dumps(value)
        self.assertEqual(json.loads(text), strict_json.loads(text))

    @hypothesis.given(
        strategies.text(alphabet='0123456789eE+-.[]{}",: NaInfity'))
    def test_any_text_is_finite_or_a_value_error(self, text):
        try:
            value = strict_json.loads(text)
        except ValueError:
            return
        self.assertTrue(all(math.isfinite(float(n))
                            for n in _numbers(value)))


GOOD = '{"jobs": [1], "a": {"b": 2}}'


@ddt.ddt
class WithinTest(testtools.TestCase):
    """A document among the lines of a program."""

    @ddt.data(
        GOOD, f'a note\n{GOOD}', f'{{x}}: a note\n{{\n{GOOD}\nanother\n',
        f'note {{x}}\n{GOOD}', f'note: {GOOD}\n', f'{{}}\n{GOOD}\n{{}}')
    def test_found(self, text):
        found = strict_json.within(text, 'jobs', 'x')
        self.assertEqual({'jobs': [1], 'a': {'b': 2}}, found.value)

    def test_what_is_there_twice_is_not_there(self):
        found = strict_json.within('{"jobs": {"a": 1, "b": 2, "a": 3}}',
                                   'jobs', 'x')
        self.assertEqual({'b': 2}, found['jobs'].value)

    def test_or_the_last_one_is(self):
        found = strict_json.within('{"jobs": {"a": 1, "b": 2, "a": 3}}',
                                   'jobs', 'x', last=True)
        self.assertEqual({'a': 3, 'b': 2}, found['jobs'].value)

    @ddt.data('', 'no', '{', '{"jobs": NaN}', '{"jobs": 1',
              f'{GOOD}{GOOD}', '{\n' * 9999,
              '{"jobs":\n' * 2000, '{"jobs": "\\ud800"}')
    def test_none(self, text):
        said = str(self.assertRaises(
            errors.ToolError, strict_json.within, text, 'jobs', 'x'))
        self.assertIn('The data from x cannot be used: ', said)
