"""The thinking that reasoning models write into their replies."""

from __future__ import annotations

import re

_TAG = re.compile(r"<(?P<slash>/?)think(?:ing)?>", re.IGNORECASE)


def strip_reasoning(text: str) -> str:
    """Take the thinking of a reasoning model out of its reply.

    A block that is never closed reaches to the end: the model ran out of tokens while it thought. Everything before a
    closing tag without an opening one is thinking as well: some chat templates put the opening tag into the prompt.

    :param text: The reply.
    :returns: What the model answered, without blanks at both ends; empty when it only thought.
    """
    answer: list[str] = []
    start = 0
    thinking = False
    for tag in _TAG.finditer(text):
        if tag["slash"]:
            if not thinking:
                answer.clear()
            thinking, start = False, tag.end()
        elif not thinking:
            # An opening tag inside a block is a word of the thought: models think about their tags, they do not nest.
            answer.append(text[start : tag.start()])
            thinking = True
    if not thinking:
        answer.append(text[start:])
    # The blank keeps the ends of two parts from joining into a word, or into a tag.
    return " ".join(answer).strip()
