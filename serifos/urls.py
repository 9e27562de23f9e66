# SPDX-License-Identifier: Apache-2.0
"""URLs as they may be shown: without the passwords that are in them."""

from __future__ import annotations

import re

MASK = '***'

_WORD = re.compile(r'\S+')
_SECRET = re.compile(
    r'([?&;][\w.-]{0,40}(?:passw|passphrase|secret|token)[\w.-]{0,40}=)'
    r'[^&#;\s]*', re.IGNORECASE)


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
