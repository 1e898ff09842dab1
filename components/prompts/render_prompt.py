"""The rendering of the prompts, which are Jinja templates in this folder or files of the user."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateError
from jinja2.sandbox import SandboxedEnvironment

from prefrag.components.prompts.quotation import QUOTED, break_tokens

PROMPTS = Path(__file__).parent


@lru_cache(maxsize=64)
def _compile(path: Path, modified: int) -> Template:
    # Every value passes here: a question, an earlier turn or a reply may repeat what a stranger wrote.
    environment = SandboxedEnvironment(
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
        finalize=lambda value: break_tokens(value) if isinstance(value, str) else value,
    )
    environment.globals["quoted"] = QUOTED
    return environment.from_string(path.read_text(encoding="utf-8"))


def prompt_path(prompt: str) -> Path:
    """Find a prompt file.

    :param prompt: The name of a shipped prompt (``reasoner_text``) or the path of a file of your own.
    :returns: The file.
    :raises ValueError: When there is no such file.
    """
    shipped = PROMPTS / f"{prompt}.jinja"
    path = shipped if shipped.is_file() else Path(prompt).expanduser()
    if not path.is_file():
        names = ", ".join(sorted(file.stem for file in PROMPTS.glob("*.jinja")))
        raise ValueError(f"No prompt '{prompt}': give the path of a .jinja file, or one of the shipped ones ({names}).")
    return path


def render_prompt(prompt: str, **values: Any) -> str:
    """Render a prompt.

    :param prompt: See :func:`prompt_path`.
    :param values: The variables of the template.
    :returns: The text, without blanks at its ends.
    :raises ValueError: When the file is absent, or uses an unknown variable.
    """
    path = prompt_path(prompt)
    try:
        return _compile(path, path.stat().st_mtime_ns).render(**values).strip()
    except TemplateError as error:
        raise ValueError(
            f"The prompt {path.name} cannot be filled: {error}. It may use: {', '.join(values)}."
        ) from error


def put_instructions(prompt: str, instructions: str) -> str:
    """Put instructions before a prompt."""
    return f"{render_prompt('instructions', instructions=instructions)}\n\n{prompt}" if instructions else prompt
