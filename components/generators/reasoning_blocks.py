"""The thinking blocks that reasoning models write into their replies."""

import re

FILED_AS_REASONING = (
    "The server sent the whole reply as reasoning: check its --reasoning-parser, which is only for models that think."
)
_TAG = re.compile(r"<(?P<slash>/?)think(?:ing)?>", re.IGNORECASE)


def strip_reasoning(text: str) -> str:
    """Remove the thinking of a reasoning model from its reply.

    A block without a closing tag extends to the end, because the model ran out of tokens. If a closing tag has no
    opening tag, everything before it is thinking, because some chat templates put the opening tag into the prompt.
    """
    return _split_reasoning(text)[0]


def has_open_reasoning(text: str) -> bool:
    """Check whether a reply ends within its thinking, before the model got to its answer."""
    return _split_reasoning(text)[1]


def _split_reasoning(text: str) -> tuple[str, bool]:
    answer: list[str] = []
    start = 0
    thinking = False
    for tag in _TAG.finditer(text):
        if tag["slash"]:
            if not thinking:
                answer.clear()
            thinking, start = False, tag.end()
        elif not thinking:
            # An opening tag inside a block is part of the thought: tags are mentioned in thoughts, but never nested.
            answer.append(text[start : tag.start()])
            thinking = True
    if not thinking:
        answer.append(text[start:])
    # Without a space between them, two parts could join into a word or a tag.
    return " ".join(answer).strip(), thinking
