# SPDX-License-Identifier: Apache-2.0
"""What an operator asks the page of a cloud first, and its answers."""

import html
import re

QUESTIONS = ('Is anything slow?', 'Because of whom?', 'What will be moved?',
             'What does it cost?', 'What cannot move, and why?',
             'Did the last plan work?')


def words(text: str) -> str:
    """Without tags, and each run of spaces and line ends as one space."""
    text = re.sub(r'<(style|script)\b.*?</\1>', '', text, flags=re.S)
    return ' '.join(html.unescape(re.sub('<[^>]*>', ' ', text)).split())


def answers(page: str) -> dict[str, str]:
    """Question → answer, in the page's order."""
    return {question: words(answer) for question, answer in re.findall(
        '<dt>(.*?)</dt>\n<dd>(.*?)</dd>', page, re.S)}


def unanswered(page: str) -> list[str]:
    """The questions that a page leaves open."""
    found = answers(page)
    return [question for question in QUESTIONS if not found.get(question)]
