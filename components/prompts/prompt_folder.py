"""Check the setting ``prompts``: ``product``, ``plain``, or a folder whose files replace the shipped prompts.

A user's folder is checked when the pipeline is loaded, so that a wrong file is reported before the first question.
"""

from functools import cache
from pathlib import Path

from jinja2 import TemplateSyntaxError, nodes
from jinja2.meta import find_undeclared_variables

from prefrag.components.prompts.render_prompt import CANNOT_BE_FILLED, ENVIRONMENT, MODES, PASSAGE, PROMPTS, TEXTS

# The prompts that a folder cannot replace. `source_switch_question` is used only with `product`. `instructions` puts
# the operator's instructions before a prompt.
_NOT_REPLACEABLE = {"source_switch_question", "instructions"}
# The parts of a template that read another file. They are not allowed.
_FROM_ELSEWHERE = (nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)
# A character that no template contains. It stands for each word of a passage when the template for passages is checked.
_WORDS = "\0"


def check_prompts(prompts: object) -> None:
    """Check that ``prompts`` is ``product``, ``plain``, or a folder whose files have the names of shipped prompts.

    Each file of a folder must be a valid template. It may use only the variables of the shipped prompt of its name.

    :param prompts: The setting.
    :raises ValueError: When the setting has another value, or a file of the folder does not fit.
    """
    if prompts in MODES:
        return
    if prompts == "paper":
        raise ValueError("prompts is 'paper', which is now called plain: write plain, or the folder of your prompts.")
    folder = Path(prompts).expanduser() if isinstance(prompts, str) and prompts else None
    if folder is None or not folder.is_dir():
        raise ValueError(f"prompts is {prompts!r}: set it to {', '.join(MODES)} or a folder of prompts.")
    # Markdown files are notes, and hidden files belong to the system.
    files = [file for file in sorted(folder.iterdir()) if file.suffix != ".md" and not file.name.startswith(".")]
    if not files:
        raise ValueError(f"{folder} holds no prompt: add {PASSAGE}.jinja, or a file named like a file in {PROMPTS}.")
    for file in files:
        _check(file)


def own_names() -> list[str]:
    """List the names of the prompts that a folder may contain.

    :returns: The names without ``.jinja``, in alphabetical order.
    """
    shipped = {file.stem for file in PROMPTS.glob("*.jinja")}
    names = shipped.union(TEXTS, [PASSAGE])
    return sorted(names - _NOT_REPLACEABLE)


def variables_of(prompt: str) -> frozenset[str]:
    """List the variables that a prompt may use: all variables in the shipped prompts of the same component.

    :param prompt: The name of the prompt.
    :returns: The names of the variables.
    """
    if prompt == PASSAGE:
        return frozenset({"number", "title", "content"})
    if prompt in TEXTS:
        return frozenset(TEXTS[prompt])
    of_reasoner = {file.stem for file in PROMPTS.glob("reasoner_*.jinja")}
    of_reasoner |= {"answer_once", "answer_with_analysis"}
    prompts = of_reasoner if prompt in of_reasoner else {prompt}
    return frozenset().union(*map(_variables_in, prompts))


@cache
def _variables_in(prompt: str) -> set[str]:
    """List the variables that a shipped prompt uses, except those that every prompt may use."""
    tree = ENVIRONMENT.parse((PROMPTS / f"{prompt}.jinja").read_text(encoding="utf-8"))
    return find_undeclared_variables(tree) - ENVIRONMENT.globals.keys()


def _check(file: Path) -> None:
    """Raise ValueError if a file does not have the name of a prompt, or is no valid template for this prompt."""
    if file.suffix != ".jinja" or file.stem not in own_names() or not file.is_file():
        names = ", ".join(f"{name}.jinja" for name in own_names())
        raise ValueError(f"{file} is not a prompt: its name must be one of {names}.")
    try:
        text = file.read_text(encoding="utf-8")
        tree = ENVIRONMENT.parse(text)
        variables = find_undeclared_variables(tree)
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ValueError(f"{file}, line {line}: the file is not written in UTF-8.") from error
    except TemplateSyntaxError as error:
        raise ValueError(f"{file}, line {error.lineno}: {error.message}") from error

    reading = next(tree.find_all(_FROM_ELSEWHERE), None)
    if reading is not None:
        raise ValueError(f"{file}, line {reading.lineno}: a prompt may not use another file.")

    unknown = variables.difference(variables_of(file.stem), ENVIRONMENT.globals)
    unknown_names = [name for name in tree.find_all(nodes.Name) if name.name in unknown]
    if unknown_names:
        first = unknown_names[0]
        choices = ", ".join(sorted({"quoted", *variables_of(file.stem)}))
        raise ValueError(f"{file}, line {first.lineno}: there is no variable '{first.name}', only {choices}.")
    if file.stem == PASSAGE:
        _check_form(file, text)


def _check_form(file: Path, text: str) -> None:
    """Refuse a passage template in which a line can begin with words of the passage, which may be untrusted."""
    # The template gets many words, because it may wrap lines. It is filled for the passages 1 to 3, because a line may
    # depend on the number of the passage.
    words = " ".join([_WORDS] * 100)
    form = ENVIRONMENT.from_string(text)
    try:
        lines = []
        for number in (1, 2, 3):
            shown = form.render(number=number, title=words, content=words)
            lines += shown.splitlines()
    except CANNOT_BE_FILLED as error:
        raise ValueError(f"{file} cannot be filled: {error}") from error
    if any(line.lstrip().startswith(_WORDS) for line in lines):
        raise ValueError(
            f"{file}: a line that begins with the passage's own words could pass for a line of the prompt: put a word "
            "before them, such as title: or content:."
        )
