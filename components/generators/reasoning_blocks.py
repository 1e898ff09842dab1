"""Remove the thinking blocks that reasoning models write into their replies.

A reasoning model writes down its thoughts before its answer, as in ``<think>Is it Lyon?</think>Paris``. Only the answer
is used.
"""

import re

# The explanation for users when a server has put the whole reply into the field for reasoning.
FILED_AS_REASONING = (
    "The server sent the whole reply as reasoning: check its --reasoning-parser, which is only for models that think."
)
# Matches the opening or closing tag of a thinking block, such as "<think>" and "</thinking>". "<thinkers>" does not
# match. The group `slash` is empty for an opening tag.
_TAG = re.compile(r"<(?P<slash>/?)think(?:ing)?>", re.IGNORECASE)


def strip_reasoning(text: str) -> str:
    """Remove the thinking of a reasoning model from its reply.

    For example, ``strip_reasoning("<think>Is it Lyon?</think>Paris")`` returns ``"Paris"``.

    A block without a closing tag extends to the end, because the model ran out of tokens. A closing tag may have no
    opening tag, because some chat templates put the opening tag into the prompt. Then everything before the closing tag
    is thinking.

    :param text: The reply.
    :returns: The answer, without blanks at its ends. Empty if the reply is only thinking.
    """
    answer, _ = _split_reasoning(text)
    return answer


def has_open_reasoning(text: str) -> bool:
    """Check whether a reply ends within its thinking, before the model got to its answer.

    For example, ``has_open_reasoning("<think>Is it")`` returns ``True``.

    :param text: The reply.
    :returns: Whether the last thinking block has no closing tag.
    """
    _, is_open = _split_reasoning(text)
    return is_open


def _split_reasoning(text: str) -> tuple[str, bool]:
    """Return the answer in a reply, and whether the reply ends within a thinking block.

    For example, ``_split_reasoning("Paris <think>or")`` returns ``("Paris", True)``.
    """
    # The parts of the answer, which stand before, between and behind the thinking blocks.
    parts: list[str] = []
    # Where the present part begins.
    start = 0
    is_thinking = False
    for tag in _TAG.finditer(text):
        is_closing = bool(tag["slash"])
        if is_closing:
            if not is_thinking:
                # The opening tag is in the prompt, so everything before this tag is thinking.
                parts.clear()
            is_thinking = False
            start = tag.end()
        elif not is_thinking:
            # A tag inside a block does not open another block. Models mention tags in their thoughts, but never nest
            # them.
            parts.append(text[start : tag.start()])
            is_thinking = True
    if not is_thinking:
        parts.append(text[start:])
    # A space is put between the parts, because two parts could otherwise join into a word or a tag.
    return " ".join(parts).strip(), is_thinking
