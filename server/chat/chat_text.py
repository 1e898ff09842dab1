"""Write a pipeline's result as Markdown for a chat.

The text consists of the answer, the sentences that support it, a note and the list of sources. Passages, model replies
and web pages are untrusted: they could contain Markdown or HTML. So all text of a result goes through :func:`disarm`
before it becomes part of the message.

A mark is the short name of a cited passage: ``1`` for a document of the user, ``W2`` for a web page, and ``A1`` for a
text that came with the question. In the text, marks stand in square brackets, as in ``[W2]``.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from prefrag.components.reasoner.reader_step import NEEDS_MODEL, NOT_READ
from prefrag.components.state.events import TraceEvent
from prefrag.components.state.result import Result
from prefrag.components.state.state import Event, Label
from prefrag.components.text.addresses import without_userinfo
from prefrag.components.text.controls import strip_controls
from prefrag.components.text.distinct import distinct
from prefrag.components.text.one_line import one_line
from prefrag.pipelines import references, search_failures
from prefrag.pipelines.references import GIVEN, HEADING, NOT_ANSWERED, UNSUPPORTED, answer_parts, evidence_texts
from prefrag.pipelines.sent_to_models import write_sent_to_models
from prefrag.pipelines.trace_text import trace_text

# The first word of the paragraph that `write_note` writes.
NOTE = "Note:"
# The words that say how sure an answer is, as an alternative of a regular expression: "Stated|Probably".
_CERTAINTY_WORDS = "|".join(GIVEN.values())
# A line that begins like a heading of this module: "Sources:", "Note:", "Not in the passages:", "Stated:" or
# "Probably:". Up to nine blanks may stand before the heading. "  Sources: a book" matches, "See Sources:" does not. The
# first three constants end with a colon, and the words of certainty do not.
_OWN_HEADING = re.compile(rf"(?m)^[ \t]{{0,9}}({HEADING}|{NOTE}|{UNSUPPORTED}|(?:{_CERTAINTY_WORDS}):)")
# The "<" at the beginning of an HTML tag or comment, as in "<b>", "</b>" and "<!--". In "1 < 2" nothing matches.
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
# The answer in a line that begins with "Stated: " or "Probably: ". In "Stated: the name was **Ada L.**, as [1] says",
# the group is "Ada L.". The answer stands in bold. A backslash stands before each asterisk of its own.
_STATED = re.compile(rf"(?m)^(?:{_CERTAINTY_WORDS}): [^\n]*?(?<!\\)\*\*((?:[^*\\\n]|\\.)+)\*\*")
# The word at the beginning of a line that says how sure the answer is: "Stated: " or "Probably: ".
_CERTAINTY = re.compile(rf"(?m)^(?:{_CERTAINTY_WORDS}):\s*")
# The beginning of a code block that a front end might run or draw. Group 1 is the fence, three or more ` or ~.
#
# - The language is one that front ends run or draw, as in "```html" or "~~~ svg".
# - Or the language may be written with an HTML entity, as in "```ht&#109;l", which a front end reads as "html". Then
#   the match ends behind the fence.
#
# "```python" does not match. The signs `}+` and `*+` keep the search fast: what they have matched is not tried again.
_DRAWN_CODE = re.compile(
    r"""
    ( (?<!`) `{3,}+ | (?<!~) ~{3,}+ )
    (?: [^\S\n]*+ (?:html|svg|xml|css|js|javascript|jsx|tsx|mermaid|vega) \b
      | (?= [^\n`]{0,200} & )
    )
    """,
    re.IGNORECASE | re.VERBOSE,
)
# Marks of cited passages in square brackets: "[1]", "[W2]" or "[1, A1]". Group 1 is what stands between the brackets.
# "[x]" does not match.
MARKS = re.compile(r"\[\s{0,9}([AW]?\d{1,9}(?:\s{0,9}[,;]\s{0,9}[AW]?\d{1,9})*)\s{0,9}\]")
# A single mark, such as "1", "W2" or "A1".
_MARK = re.compile(r"[AW]?\d+")


def disarm(text: str) -> str:
    """Turn images, HTML and links into plain text, so that a Markdown renderer neither loads nor hides anything.

    For example, ``disarm("[a](http://b.org) <b>c</b>")`` returns ``"[a] (http://b.org) &lt;b>c&lt;/b>"``.

    :param text: Any text, which may be untrusted.
    :returns: The text without control characters, without passwords in addresses, and without active Markdown.
    """
    # An inline link or image needs `](`, and a reference link needs a definition with `]:`.
    text = strip_controls(without_userinfo(text))
    plain = _TAG.sub("&lt;", text.replace("](", "] (").replace("]:", "] :"))
    # Front ends would run or draw these code blocks. With the language "text", they only show them.
    return _DRAWN_CODE.sub(r"\1text", plain)


def write_content(result: Result, cites: bool, marks: Mapping[str, str], lists_sources: bool = True) -> str:
    """Write the content of the assistant's message: the answer, a note and the sources.

    :param result: The result of the run.
    :param cites: Whether the model was asked to cite passages.
    :param marks: The new names of marks of passages, for :func:`rename_marks`. Empty if no mark is renamed.
    :param lists_sources: Whether to append the list of sources.
    :returns: Markdown, with a blank line between two parts.
    """
    paragraphs = _write_answer(result, marks)
    for sentence in result.get("unsupported") or ():
        escaped = _without_emphasis(one_line(sentence))
        paragraphs.append(f"{UNSUPPORTED} {escaped}")

    note = write_note(result, cites)
    if _is_unread(result):
        # The sentences only share words with the question. The note says so, and comes first.
        paragraphs.insert(0, note)
    else:
        paragraphs.append(note)
    if search_failures(result):
        rests = "" if result.get("documents") else ", so this answer rests on no document"
        paragraphs.insert(0, f"{NOTE} no source could be searched{rests}.")

    if lists_sources:
        sources = rename_marks(disarm(references.references_text(result)), marks).splitlines()
        # Several passages of an attached file give the same line. Show this line only once.
        paragraphs.append("\n".join(distinct(sources)))
    return "\n\n".join(filter(None, paragraphs))


def _write_answer(result: Result, marks: Mapping[str, str]) -> list[str]:
    """Write the answer, or what is shown in its place, as one or two paragraphs."""
    parts = answer_parts(result)
    if parts:
        # The answer is the bold part of a sentence of a passage. The mark of the passage stands behind the sentence.
        before, shown_answer, behind, source = map(_without_emphasis, parts)
        bold_answer = f"**{shown_answer}**" if shown_answer else ""
        # The line begins with a word such as "Stated", so that no untrusted text starts a heading or a list.
        return [rename_marks(f"{before}{bold_answer}{behind}{source}", marks)]

    evidence = evidence_texts(result)
    answer = result.get("answer_with_citations") or result.get("answer")
    if answer:
        # Put headings like ours in brackets. A passage may have made the model write a false list of sources.
        answer_text = _OWN_HEADING.sub(r"(\1)", rename_marks(disarm(answer), marks))
        certainty_word = GIVEN.get(result.get("certainty") or "")
        if certainty_word:
            separator = "\n\n" if "\n" in answer_text else " "
            answer_text = f"{certainty_word}:{separator}{answer_text}"
        return [answer_text, _quote(evidence, marks)]

    if evidence:
        return [references.not_answered_text(result), _quote(evidence, marks)]
    return [disarm(one_line(result.get("asked_back") or "No answer was found."))]


def _is_unread(result: Result) -> bool:
    """Check whether no language model answered and the extractive reader did not read the passages either."""
    reasons = result.get("without_model") or ()
    return NEEDS_MODEL in reasons or NOT_READ in reasons


def _quote(sentences: Sequence[str], marks: Mapping[str, str]) -> str:
    """Write sentences as a Markdown quotation, with an empty quoted line between two sentences."""
    # Each sentence is a single line that begins with a mark. So no text can start a heading or a list.
    return "\n>\n".join(f"> {rename_marks(disarm(sentence), marks)}" for sentence in sentences)


def write_step(event: Event, marks: Mapping[str, str]) -> str:
    """Describe an event of the pipeline's trace, such as a search, in one line.

    :param event: The event.
    :param marks: The new names of marks of passages, for :func:`rename_marks`.
    """
    return rename_marks(disarm(trace_text(event)), marks)


def write_failure(reason: str) -> str:
    """Write the message for a run that broke off.

    :param reason: Why it broke off, as a sentence. Secrets and addresses have been removed.
    """
    return disarm(f"The run broke off. {reason}")


@dataclass(frozen=True)
class TextChat:
    """Streams an answer to any OpenAI client. Steps are sent as reasoning, and sources are listed in the text.

    Each method yields the fields of one or more chunks of the stream.
    """

    # The new names of marks of passages, for `rename_marks`.
    marks: Mapping[str, str]
    # Whether the model was asked to cite passages.
    cites: bool

    def write_step(self, event: Event) -> Iterator[dict[str, object]]:
        """Show a step of the pipeline as reasoning."""
        yield {"reasoning_content": f"{write_step(event, self.marks)}\n"}

    def write_end(self, result: Result) -> Iterator[dict[str, object]]:
        """Show what was sent to models as reasoning, then the answer as content."""
        for line in write_sent_to_models(result, with_host=False):
            yield {"reasoning_content": f"{line}\n"}
        yield {"content": write_content(result, self.cites, self.marks), "prefrag": result}

    def write_failure(self, reason: str, result: Result) -> Iterator[dict[str, object]]:
        """Say why the run broke off, without an answer."""
        yield {"content": write_failure(reason), "prefrag": result}


def strip_notes(content: str) -> str:
    r"""Remove from an earlier answer what :func:`write_content` has added to it.

    For example, ``strip_notes("Stated: It was **Ada**, in [1].\n\nNote: x.\n\nSources:\n[1] A")`` returns
    ``"Ada"``.

    :param content: The content of an earlier message of the assistant.
    :returns: The answer alone. If the message had no answer, a sentence that says so.
    """
    before_sources, _, _ = content.partition(f"\n\n{HEADING}\n")
    paragraphs = before_sources.split("\n\n")
    if any(paragraph in references.WITHOUT_ANSWER for paragraph in paragraphs):
        # Everything else in such a message is quoted from passages.
        return NOT_ANSWERED

    # Messages without an answer were handled above. In the others, quotations stand only below the words of a model.
    # Without a quotation, the answer may be a sentence of a passage, of which only the bold part is the answer.
    has_quotation = any(paragraph.startswith("> ") for paragraph in paragraphs)
    if not has_quotation:
        stated = _STATED.search(content)
        if stated:
            without_escapes = re.sub(r"\\(.)", r"\1", stated[1])
            return without_escapes
        if any(paragraph.startswith("Probably: ") for paragraph in paragraphs):
            # The extractive reader found only a sentence, and no answer in it.
            return NOT_ANSWERED

    answer = [paragraph for paragraph in paragraphs if not paragraph.startswith((NOTE, UNSUPPORTED, "> "))]
    return _CERTAINTY.sub("", "\n\n".join(answer))


def rename_marks(text: str, marks: Mapping[str, str]) -> str:
    """Rename the marks of passages in a text.

    This is needed if files are attached to the chat, because a front end would take ``[1]`` for the first of the files.
    Marks of the user's documents have no letter, and get a ``D``. For example,
    ``rename_marks("As [1] and [A1] say.", {"A1": "3"})`` returns ``"As [D1] and [3] say."``.

    :param text: The text.
    :param marks: The new name for each mark to rename. If this is empty, the text stays as it is.
    """
    if not marks:
        return text

    def rename(match: re.Match[str]) -> str:
        renamed = [new_name(mark) for mark in read_marks(match[1])]
        # Two marks may have the same new name.
        names = ", ".join(distinct(renamed))
        return f"[{names}]"

    def new_name(mark: str) -> str:
        if mark.startswith(("A", "W")):
            return marks.get(mark, mark)
        return f"D{mark}"

    return MARKS.sub(rename, text)


def read_marks(inner: str) -> list[str]:
    """Find the single marks in a match of :data:`MARKS`. For example, ``"[1, A1]"`` gives ``["1", "A1"]``.

    :param inner: The match, with or without its square brackets.
    """
    return _MARK.findall(inner)


def write_note(result: Result, cites: bool) -> str:
    """Write the note that says what the user should know about an answer.

    :param result: The result of the run.
    :param cites: Whether the model was asked to cite passages.
    :returns: A paragraph that begins with :data:`NOTE`. An empty text if there is nothing to say.
    """
    remarks = [*_remarks_on_answer(result, cites), *_remarks_on_failures(result), *_remarks_on_web(result)]
    return f"{NOTE} {'; '.join(remarks)}." if remarks else ""


def _remarks_on_answer(result: Result, cites: bool) -> list[str]:
    """Say how the question was understood, who gave the answer, and how sure it is."""
    remarks = []
    question = result.get("question")
    asked = result.get("asked", question)
    if question and question != asked:
        # The question was rewritten, for example because it referred to an earlier turn of the chat.
        shown_question = disarm(one_line(question))
        remarks.append(f"the question was read as \u201c{shown_question}\u201d")

    # Words that a model has given as its answer, although no passage confirms them.
    unconfirmed = references.unconfirmed_words(result)
    if result.get("answered_by") == "reader" and answer_parts(result):
        remarks.append("the extractive reader found this without a language model")
    elif unconfirmed:
        escaped = _without_emphasis(one_line(unconfirmed).removesuffix("."))
        remarks.append(f"{references.OWN_WORDS} *{escaped}*")
    elif result.get("label") == Label.INCORRECT:
        remarks.append("the model's own check calls this answer incorrect")

    # Says that the model had to answer before its documents sufficed.
    forced = references.forced_text(result)
    if forced:
        remarks.append(forced)
    # Says why the answer rests on no document.
    why_ungrounded = references.ungrounded_text(result)
    if why_ungrounded:
        remarks.append(f"{why_ungrounded}, so the answer is the model's own")
    elif cites and references.cites_nothing(result):
        remarks.append("the answer cites none of the passages")
    return remarks


def _remarks_on_failures(result: Result) -> list[str]:
    """Say what could not be done: without a language model, because a model failed, or because a source failed."""
    remarks = [text.removesuffix(".") for text in result.get("without_model") or ()]
    # A model may have failed several times with the same message. Write it once.
    messages = [str(event["message"]) for event in _events(result, "model_failed")]
    for message in distinct(messages):
        remarks.append(disarm(one_line(message)).removesuffix("."))
    failed = _failed_sources(result)
    if failed and not search_failures(result):
        names = " and ".join(failed)
        remarks.append(f"{names} could not be searched")
    return remarks


def _remarks_on_web(result: Result) -> list[str]:
    """Say which queries were not sent to the web, and which were."""
    remarks = []
    was_sent = bool(result.get("queries_sent_out"))
    reasons = distinct(query["reason"] for query in result.get("queries_held_back") or ())
    if reasons:
        consequence = "a query was held back" if was_sent else "the web was not searched"
        shown_reasons = disarm("; ".join(reasons))
        remarks.append(f"{consequence}: {shown_reasons}")

    # Parts of the question that are in no query.
    left_out = distinct(str(event["text"]) for event in _events(result, "left_out"))
    if left_out and was_sent:
        parts = "; ".join(f"\u201c{disarm(one_line(text))}\u201d" for text in left_out)
        remarks.append(f"not sent to the web: {parts} (to search the web for this too, ask it as a question by itself)")

    queries = [disarm(one_line(query["query"])) for query in result.get("queries_sent_out") or ()]
    if queries:
        shown_queries = ", ".join(f"\u201c{query}\u201d" for query in distinct(queries))
        remarks.append(f"sent to the web: {shown_queries}")
    return remarks


def _events(result: Result, kind: str) -> list[TraceEvent]:
    """Return all events of a kind in the trace."""
    return [event for event in result.get("trace") or () if event.get("kind") == kind]


def _without_emphasis(text: str) -> str:
    r"""Disarm a text, and escape its Markdown signs for bold type and code. For example, ``a*b`` gives ``a\*b``."""
    return re.sub(r"([*`\\])", r"\\\1", disarm(text))


def _failed_sources(result: Result) -> list[str]:
    """Return the names of the sources for which every search failed, in the order in which they were first searched."""
    searches = _events(result, "found")
    sources = distinct(str(event["source"]) for event in searches)
    # A search with titles and an error did not fail: only some of the retrievers of the source failed.
    succeeded = [event for event in searches if event.get("titles") or not event.get("error")]
    answering = {event["source"] for event in succeeded}
    return [source for source in sources if source not in answering]
