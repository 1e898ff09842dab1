"""The marks of passages in scripted replies: ``[[W1]]`` in a script becomes the mark in the prompt."""

import re

from prefrag.components.state.citations import citation_marks, prompt_marks
from prefrag.components.state.state import State

_SHOWN = re.compile(r"\[(([ADW]?\d+)[a-z]{2})\]")
_PLACEHOLDER = re.compile(r"\[\[([ADW\d, ]+)\]\]")


def put_codes(reply: str, prompt: str | State) -> str:
    """Write the marks of a reply as in its prompt: ``[[W1]]`` as ``[W1kx]``, ``[[1, W1]]`` as two marks."""
    if isinstance(prompt, State):
        shown, plain = prompt_marks(prompt), citation_marks(prompt)
        marks = {plain[key]: mark for key, mark in shown.items()}
    else:
        marks = {plain: mark for mark, plain in _SHOWN.findall(prompt)}

    def write(match: re.Match[str]) -> str:
        return f"[{', '.join(marks.get(mark, mark) for mark in match[1].split(', '))}]"

    return _PLACEHOLDER.sub(write, reply)


def drop_codes(prompt: str) -> str:
    """Write the marks of a prompt as users see them, without codes."""
    return _SHOWN.sub(r"[\2]", prompt)
