# SPDX-License-Identifier: Apache-2.0
"""The errors that a user can correct, each with a message and an exit code.

The text of a :class:`SerifosError` says in one sentence what is wrong and
how to correct it. Commands print it and exit with
:attr:`SerifosError.exit_code`; anything else is a bug and keeps its
traceback.
"""

from __future__ import annotations

import re

MASK = '***'

UNEXPLAINED = 6
"""The exit code where all was done, and pools do not fit their models."""

_WORD = re.compile(r'\S+')
_SECRET = re.compile(
    r'([?&;][\w.-]{0,40}(?:passw|passphrase|secret|token)[\w.-]{0,40}=)'
    r'[^&#;\s]*', re.IGNORECASE)

_HEAD, _TAIL = 700, 250


class SerifosError(Exception):
    """The root of the family; its text is one sentence for the user.

    What it repeats of a file, a server or an argument is kept on one line
    that a terminal can show, is cut in the middle where it is long, and of
    a URL no password is shown.
    """

    exit_code = 1

    def __init__(self, text: str = '') -> None:
        super().__init__(one_line(text))


class InputError(SerifosError):
    """An argument, a file or a figure cannot be used as it is."""

    exit_code = 2


class FormatError(InputError):
    """A file is not of the format, or the version, that we read."""


class DeviceError(SerifosError):
    """The device is not there, in use, or not the one that was named."""

    exit_code = 3


class ToolError(SerifosError):
    """A program or package that we need is missing, too old or failed."""

    exit_code = 4


class CloudError(SerifosError):
    """Cinder, or a source of telemetry, does not answer or refuses."""

    exit_code = 5


class NotLeading(SerifosError):
    """Another balancer leads, or that none does cannot be proved."""

    exit_code = 5


class Interrupted(SerifosError):
    """The user stopped the work; the text says how to go on."""

    exit_code = 130


def one_line(text: str) -> str:
    """A text without line ends, control characters and passwords in URLs.

    What is not to be seen otherwise, as what turns the direction of writing,
    is shown as an escape. It is cut in the middle where it is long.
    """
    text = re.sub(r'[\s\x00-\x1f\x7f-\x9f]+', ' ', masked(text))
    cut = len(text) > _HEAD + _TAIL
    if cut:
        text = text[:_HEAD] + text[-_TAIL:]
    text = ''.join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    return f'{text[:_HEAD]} [...] {text[-_TAIL:]}' if (
        cut or len(text) > _HEAD + _TAIL) else text


def masked(text: str) -> str:
    """A URL, or a text that holds some, without logins and passwords.

    What stands between ``//`` and the last ``@`` of a word is taken for a
    login, so that a password with a ``/`` or ``@`` that should have been
    quoted does not show either; and what a query names a password, secret
    or token.
    """
    if '//' not in text:
        return text
    return _SECRET.sub(rf'\1{MASK}', _WORD.sub(_without_login, text))


def _without_login(word: re.Match[str]) -> str:
    text = word[0]
    begin, end = text.find('//') + 2, text.rfind('@')
    if begin < 2 or end < begin:
        return text
    return f'{text[:begin]}{MASK}{text[end:]}'
