"""Write passages into a prompt. No line begins with words of a passage, which could pass for a line of the prompt."""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

from haystack import Document

from prefrag.components.prompts.quotation import quote_line, quote_text, quote_title
from prefrag.components.prompts.render_prompt import PASSAGE, render_prompt, user_file
from prefrag.components.state.state import SUMMARY, Identity, identity

_LEFT_OUT = "(the passages found here were left out to save room)"
_SUMMARY_TITLE = "Summary of earlier passages"
# Cached, because every later prompt of a run repeats the passage.
_quote_once = lru_cache(maxsize=512)(quote_text)


def passages(
    documents: Sequence[Document],
    note: str = "",
    marks: Mapping[Identity, str] | None = None,
    above: Collection[Identity] = (),
    prompts: str = "product",
) -> str:
    """Write documents for a prompt: each under its title, with every line of the text quoted.

    ``note`` is written first. ``marks`` come from :func:`prompt_marks`. The model cites a document by its mark, which
    stands before the title. Of a document that the prompt already shows further up (``above``), only the mark is
    written. If ``prompts`` is a user's folder with a template for passages, that template is used.
    """
    marks = marks or {}
    marked = marks.keys() & set(above)
    again = [marks[identity(document)] for document in documents if identity(document) in marked]
    new = (document for document in documents if identity(document) not in marked)
    parts = [_write(document, number, marks, prompts) for number, document in enumerate(new, start=1)]
    if again:
        parts.append(f"Shown above: {', '.join(f'[{mark}]' for mark in again)}")
    if note:
        parts.insert(0, quote_line(note))
    return "\n\n".join(parts) or _LEFT_OUT


def _write(document: Document, number: int, marks: Mapping[Identity, str], prompts: str) -> str:
    text, is_summary = str(document.content or ""), bool(document.meta.get(SUMMARY))
    title = _SUMMARY_TITLE if is_summary else quote_title(str(document.meta.get("title") or ""))
    form = user_file(PASSAGE, prompts)
    if form is not None:
        return render_prompt(str(form), number=number, title=title, content=quote_line(text))
    if is_summary:
        return f"{title}\n{quote_text(text, marks.values())}"
    mark = marks.get(identity(document))
    head = f"[{mark}] {title}" if mark else f"Title: {title}"
    quoted = _quote_once(text)
    return f"{head}\n{quoted}" if quoted else head
