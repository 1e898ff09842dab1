"""Render the prompts, which are Jinja templates in this folder or files of the user."""

from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import DictLoader, StrictUndefined, Template, TemplateError
from jinja2.sandbox import SandboxedEnvironment

from prefrag.components.prompts.quotation import QUOTED, QUOTED_IN_OWN_FORM, defuse_tokens

PROMPTS = Path(__file__).parent
MODES = ("product", "plain")
# The errors that can occur while a template is rendered.
CANNOT_BE_FILLED = (TemplateError, ArithmeticError, AttributeError, LookupError, TypeError)
# The template of a single passage. No such file is shipped, but a user's folder can contain one.
PASSAGE = "passage"
# Texts that stand in prompts, of which a user's folder can contain others, and the variables that each may use: what a
# tool says of itself, and what an answer has to look like (table 19 of PrefRAG). No such files are shipped.
TEXTS = {"tool_description": ("name", "description"), "answer_format": ("answer_type", "answer_format")}


def _defuse(value: Any) -> Any:
    """Break the control tokens in a value: a question, an earlier turn or a reply may repeat an untrusted text."""
    return defuse_tokens(value) if isinstance(value, str) else value


ENVIRONMENT = SandboxedEnvironment(
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=False,
    finalize=_defuse,
    loader=DictLoader({}),
)
ENVIRONMENT.globals["quoted"] = QUOTED


@lru_cache(maxsize=64)
def _compile(path: Path, modified: int) -> Template:
    return ENVIRONMENT.from_string(path.read_text(encoding="utf-8"))


def user_file(prompt: str, prompts: str) -> Path | None:
    """Find a prompt in the user's folder of prompts; None if the folder does not contain it."""
    if prompts in MODES:
        return None
    path = Path(prompts).expanduser() / f"{prompt}.jinja"
    return path if path.is_file() else None


def prompt_path(prompt: str, prompts: str = "product") -> Path:
    """Find a prompt file.

    :param prompt: The name of a shipped prompt (``reasoner_text``) or the path of a file of your own.
    :param prompts: ``product``, ``plain``, or a folder whose files replace the shipped prompts.
    :returns: The file.
    :raises ValueError: When there is no such file.
    """
    shipped = PROMPTS / f"{prompt}.jinja"
    path = (user_file(prompt, prompts) or shipped) if shipped.is_file() else Path(prompt).expanduser()
    if not path.is_file():
        names = ", ".join(sorted(file.stem for file in PROMPTS.glob("*.jinja")))
        raise ValueError(f"No prompt '{prompt}' exists: name a .jinja file by its path, or a shipped prompt ({names}).")
    return path


def render_prompt(prompt: str, prompts: str = "product", /, **values: object) -> str:
    """Render a prompt (see :func:`prompt_path`), without blanks at its ends; raises ValueError if that fails."""
    path = prompt_path(prompt, prompts)
    quoted = {} if user_file(PASSAGE, prompts) is None else {"quoted": QUOTED_IN_OWN_FORM}
    try:
        return _compile(path, path.stat().st_mtime_ns).render(**quoted, **values).strip()
    except CANNOT_BE_FILLED as error:
        raise ValueError(
            f"The prompt {path.name} cannot be filled: {error}. It may use: {', '.join(values)}."
        ) from error


def own_text(text: str, prompts: str, **values: str) -> str | None:
    """Return a text of :data:`TEXTS` from the user's folder, or None; raises ValueError if it cannot be filled."""
    path = user_file(text, prompts)
    if path is None:
        return None
    try:
        return _compile(path, path.stat().st_mtime_ns).render(**values).strip()
    except CANNOT_BE_FILLED as error:
        raise ValueError(f"{path} cannot be filled: {error}. It may use: {', '.join(values)}.") from error


def put_instructions(prompt: str, instructions: str) -> str:
    """Put an operator's instructions, if there are any, before a prompt."""
    return f"{render_prompt('instructions', instructions=instructions)}\n\n{prompt}" if instructions else prompt
