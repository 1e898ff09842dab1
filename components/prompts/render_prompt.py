"""Render the prompts, which are Jinja templates in this folder or in a folder of the user.

The templates of a user are untrusted, so they run in the sandbox of Jinja. The values that fill a template may repeat
an untrusted text, so control tokens in them are broken.
"""

from functools import lru_cache
from pathlib import Path

from jinja2 import DictLoader, StrictUndefined, Template, TemplateError
from jinja2.sandbox import SandboxedEnvironment

from prefrag.components.prompts.quotation import QUOTED, QUOTED_IN_OWN_FORM, defuse_tokens

# The folder of the shipped prompts.
PROMPTS = Path(__file__).parent
# The values of the setting `prompts` other than a folder.
MODES = ("product", "plain")
# The errors that can occur while a template is rendered.
CANNOT_BE_FILLED = (TemplateError, ArithmeticError, AttributeError, LookupError, TypeError)
# The name of the template for a single passage. No such file is shipped, but a user's folder can contain one.
PASSAGE = "passage"
# Texts in prompts that a file of the user's folder can replace, each with the variables that the file may use. The
# texts are the description of a tool, and the required form of an answer (table 19 of PrefRAG). No such files are
# shipped.
TEXTS = {"tool_description": ("name", "description"), "answer_format": ("answer_type", "answer_format")}


def _defuse(value: object) -> object:
    """Break the control tokens in a value that fills a template. Return values that are no text unchanged."""
    return defuse_tokens(value) if isinstance(value, str) else value


# The settings of Jinja for all prompts. A variable without a value is an error.
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
    """Read and compile a template. ``modified``, the time of its last change, is only a part of the cache's key."""
    return ENVIRONMENT.from_string(path.read_text(encoding="utf-8"))


def user_file(prompt: str, prompts: str) -> Path | None:
    """Find a prompt in the user's folder of prompts.

    :param prompt: The name of the prompt.
    :param prompts: The setting: ``product``, ``plain``, or the folder.
    :returns: The file. None if there is no folder, or the folder does not contain the prompt.
    """
    if prompts in MODES:
        return None
    path = Path(prompts).expanduser() / f"{prompt}.jinja"
    return path if path.is_file() else None


def prompt_path(prompt: str, prompts: str = "product") -> Path:
    """Find a prompt file.

    :param prompt: The name of a shipped prompt, such as ``reasoner_text``, or the path of your own file.
    :param prompts: ``product``, ``plain``, or a folder whose files replace the shipped prompts.
    :returns: The file.
    :raises ValueError: When there is no such file.
    """
    shipped = PROMPTS / f"{prompt}.jinja"
    path = Path(prompt).expanduser()
    if shipped.is_file():
        path = user_file(prompt, prompts) or shipped
    if not path.is_file():
        names = ", ".join(sorted(file.stem for file in PROMPTS.glob("*.jinja")))
        raise ValueError(f"No prompt '{prompt}' exists: name a .jinja file by its path, or a shipped prompt ({names}).")
    return path


def render_prompt(prompt: str, prompts: str = "product", /, **values: object) -> str:
    """Fill the template of a prompt.

    :param prompt: The name or the path of the prompt, as for :func:`prompt_path`.
    :param prompts: The setting: ``product``, ``plain``, or the user's folder.
    :param values: The values of the variables.
    :returns: The prompt, without blanks at its beginning and end.
    :raises ValueError: When there is no such prompt, or the template cannot be filled.
    """
    path = prompt_path(prompt, prompts)
    quoted = {} if user_file(PASSAGE, prompts) is None else {"quoted": QUOTED_IN_OWN_FORM}
    try:
        return _compile(path, path.stat().st_mtime_ns).render(**quoted, **values).strip()
    except CANNOT_BE_FILLED as error:
        raise ValueError(
            f"The prompt {path.name} cannot be filled: {error}. It may use: {', '.join(values)}."
        ) from error


def own_text(text: str, prompts: str, **values: str) -> str | None:
    """Fill a text of :data:`TEXTS` from the user's folder.

    :param text: The name of the text.
    :param prompts: The setting: ``product``, ``plain``, or the user's folder.
    :param values: The values of the variables.
    :returns: The text, or None if the user's folder does not contain it.
    :raises ValueError: When the template cannot be filled.
    """
    path = user_file(text, prompts)
    if path is None:
        return None
    try:
        return _compile(path, path.stat().st_mtime_ns).render(**values).strip()
    except CANNOT_BE_FILLED as error:
        raise ValueError(f"{path} cannot be filled: {error}. It may use: {', '.join(values)}.") from error


def put_instructions(prompt: str, instructions: str) -> str:
    """Put the instructions of an operator before a prompt.

    :param prompt: The prompt.
    :param instructions: The instructions, or an empty text if there are none.
    :returns: The prompt, with the instructions before it if there are any.
    """
    if not instructions:
        return prompt
    introduction = render_prompt("instructions", instructions=instructions)
    return f"{introduction}\n\n{prompt}"
