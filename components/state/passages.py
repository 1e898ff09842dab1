"""Write passages into a prompt.

A passage may be a web page that imitates the prompt. So every line of a passage is quoted: no line of the prompt begins
with words of a passage.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

from haystack import Document

from prefrag.components.prompts.quotation import quote_line, quote_text, quote_title
from prefrag.components.prompts.render_prompt import PASSAGE, render_prompt, user_file
from prefrag.components.state.state import SUMMARY, Identity, identity

# This line stands in the prompt if no passage is written.
_LEFT_OUT = "(the passages found here were left out to save room)"
# The title of a document that is a summary.
_SUMMARY_TITLE = "Summary of earlier passages"
# Quotes a text. The result is cached, because every later prompt of a run repeats the passage.
_quote_once = lru_cache(maxsize=512)(quote_text)


def passages(
    documents: Sequence[Document],
    note: str = "",
    marks: Mapping[Identity, str] | None = None,
    above: Collection[Identity] = (),
    prompts: str = "product",
) -> str:
    """Write documents for a prompt: each under its title, with every line of the text quoted.

    For example, a document with the title "Museum" and the mark "1kx" becomes::

        [1kx] Museum
        | It opens at nine.

    :param documents: The documents.
    :param note: A text that is written before the documents.
    :param marks: The marks by which the model cites the documents, from :func:`prompt_marks`. Each stands before the
        title. None means that the model is not to cite.
    :param above: The documents that the prompt already shows further up. Of these, only the mark is written.
    :param prompts: The run's setting ``prompts``. If it is a user's folder with a template for passages, that template
        is used.
    :returns: The text for the prompt. If there is nothing to write, it says that passages were left out.
    """
    marks = marks or {}
    marked_above = marks.keys() & set(above)
    new_documents = []
    marks_shown_above = []
    for document in documents:
        key = identity(document)
        if key in marked_above:
            marks_shown_above.append(f"[{marks[key]}]")
        else:
            new_documents.append(document)

    parts = [_write(document, number, marks, prompts) for number, document in enumerate(new_documents, start=1)]
    if marks_shown_above:
        parts.append("Shown above: " + ", ".join(marks_shown_above))
    if note:
        parts.insert(0, quote_line(note))
    return "\n\n".join(parts) or _LEFT_OUT


def _write(document: Document, number: int, marks: Mapping[Identity, str], prompts: str) -> str:
    """Write one document under its title. ``number`` is its position in the prompt, counted from 1."""
    text = str(document.content or "")
    is_summary = bool(document.meta.get(SUMMARY))
    title = _SUMMARY_TITLE if is_summary else quote_title(str(document.meta.get("title") or ""))
    template = user_file(PASSAGE, prompts)
    if template is not None:
        return render_prompt(str(template), number=number, title=title, content=quote_line(text))
    if is_summary:
        quoted_summary = quote_text(text, marks.values())
        return f"{title}\n{quoted_summary}"

    mark = marks.get(identity(document))
    first_line = f"[{mark}] {title}" if mark else f"Title: {title}"
    quoted = _quote_once(text)
    return f"{first_line}\n{quoted}" if quoted else first_line
