"""A folder with a user's own prompts, taken from the guide."""

import re
from pathlib import Path

from tests.docs.markdown import CHECKOUT, fenced

GUIDE = CHECKOUT / "docs" / "prompts.md"


def write_prompts(folder: Path, **others: str) -> str:
    """Write the prompts of the guide, and others by name.

    :returns: The folder, as the value of a setting.
    """
    folder.mkdir(exist_ok=True)
    shown = {re.findall(r"^\{# (\w+)\.jinja #\}", text)[0]: text for text in fenced(GUIDE.read_text(), "jinja")}
    for name, text in {**shown, **others}.items():
        (folder / f"{name}.jinja").write_text(text)
    return str(folder)
