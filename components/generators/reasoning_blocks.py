"""The thinking that reasoning models write into their replies."""

from __future__ import annotations

import re

_TAG = re.compile(r"<(?P<slash>/?)think(?:ing)?>", re.IGNORECASE)


def strip_reasoning(text: str) -> str:
    """Take the thinking of a reasoning model out of its reply.

    A block that is never closed reaches to the end: the model ran out of tokens while it thought. Everything before a
    closing tag without an opening one is thinking as well: some chat templates put the opening tag into the prompt.

    :param text: The reply.
    :returns: What the model said, without blanks at both ends; empty when it only thought.
    """
    said: list[str] = []
    start = 0
    thinking = False
    for tag in _TAG.finditer(text):
        if tag["slash"]:
            if not thinking:
                said.clear()
            thinking, start = False, tag.end()
        elif not thinking:
            # An opening tag inside a block is a word of the thought: models think about their tags, they do not nest.
            said.append(text[start : tag.start()])
            thinking = True
    if not thinking:
        said.append(text[start:])
    # The blank keeps the ends of two parts from joining into a word, or into a tag.
    return " ".join(said).strip()
