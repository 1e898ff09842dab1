"""Write a pipeline's result as Markdown for a chat. Untrusted text in the result cannot change the layout."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from prefrag.components.reasoner.reader_step import NEEDS_MODEL, NOT_READ
from prefrag.components.state.state import Event, Label
from prefrag.components.text.addresses import without_userinfo
from prefrag.components.text.controls import strip_controls
from prefrag.components.text.one_line import one_line
from prefrag.pipelines import references, search_failures
from prefrag.pipelines.references import GIVEN, HEADING, NOT_ANSWERED, UNSUPPORTED, answer_parts, evidence_texts
from prefrag.pipelines.sent_to_models import write_sent_to_models
from prefrag.pipelines.trace_text import trace_text

NOTE = "Note:"
_OWN_HEADING = re.compile(rf"(?m)^[ \t]{{0,9}}({HEADING}|{NOTE}|{UNSUPPORTED}|(?:{'|'.join(GIVEN.values())}):)")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
# The answer in a line that begins with a word such as "Stated": in bold, with its Markdown characters escaped.
_STATED = re.compile(rf"(?m)^(?:{'|'.join(GIVEN.values())}): " r"[^\n]*?(?<!\\)\*\*((?:[^*\\\n]|\\.)+)\*\*")
_GIVEN = re.compile(rf"(?m)^(?:{'|'.join(GIVEN.values())}):\s*")
# The beginning of a code block in a language that front ends run or draw, as in "```html", or whose language may be
# written with an entity, as in "```ht&#109;l".
_DRAWN_CODE = re.compile(
    r"""
    ( (?<!`) `{3,}+ | (?<!~) ~{3,}+ )
    (?: [^\S\n]*+ (?:html|svg|xml|css|js|javascript|jsx|tsx|mermaid|vega) \b
      | (?= [^\n`]{0,200} & )
    )
    """,
    re.IGNORECASE | re.VERBOSE,
)
# The marks of cited passages in square brackets, such as [1], [W2] (W: a web page) or [1, A1] (A: an attached text).
MARKS = re.compile(r"\[\s{0,9}([AW]?\d{1,9}(?:\s{0,9}[,;]\s{0,9}[AW]?\d{1,9})*)\s{0,9}\]")
_MARK = re.compile(r"[AW]?\d+")


def disarm(text: str) -> str:
    """Turn images, HTML and links into plain text, so that a Markdown renderer neither loads nor hides anything."""
    # An inline link or image needs `](`, and a reference link needs a definition with `]:`.
    text = strip_controls(without_userinfo(text))
    plain = _TAG.sub("&lt;", text.replace("](", "] (").replace("]:", "] :"))
    # Front ends would run or draw code blocks in the languages that `_DRAWN_CODE` names.
    return _DRAWN_CODE.sub(r"\1text", plain)


def write_content(result: Mapping[str, Any], cites: bool, marks: Mapping[str, str], lists_sources: bool = True) -> str:
    """Write the content of the assistant's message. ``marks`` says how `rename_marks` renames marks of passages."""
    parts = answer_parts(result)
    if parts:
        before, span, behind, where = map(_without_emphasis, parts)
        bold_span = f"**{span}**" if span else ""
        # The line begins with a word such as "Stated", so that no untrusted text starts a heading or a list.
        parts = [rename_marks(f"{before}{bold_span}{behind}{where}", marks)]
    elif answer := result.get("answer_with_citations") or result.get("answer"):
        # Put headings like ours in brackets, because a passage may have made the model write a false list of sources.
        own = _OWN_HEADING.sub(lambda heading: f"({heading[1]})", rename_marks(disarm(answer), marks))
        word = GIVEN.get(result.get("certainty") or "")
        if word:
            own = f"{word}: {own}" if "\n" not in own else f"{word}:\n\n{own}"
        parts = [own, _quote(evidence_texts(result), marks)]
    elif evidence := evidence_texts(result):
        parts = [references.not_answered_text(result), _quote(evidence, marks)]
    else:
        parts = [disarm(one_line(result.get("asked_back") or "No answer was found."))]
    parts += [f"{UNSUPPORTED} {_without_emphasis(one_line(sentence))}" for sentence in result.get("unsupported") or ()]
    # If the extractive reader did not run, the evidence only shares words with the question. So put the note first.
    is_not_read = bool({NEEDS_MODEL, NOT_READ} & set(result.get("without_model") or ()))
    parts.insert(0 if is_not_read else len(parts), write_note(result, cites))
    if search_failures(result):
        rests = "" if result.get("documents") else ", so this answer rests on no document"
        parts.insert(0, f"{NOTE} no source could be searched{rests}.")
    if lists_sources:
        sources = rename_marks(disarm(references.references_text(result)), marks).splitlines()
        # All passages of an attached file give the same line. Show the line once.
        parts.append("\n".join(dict.fromkeys(sources)))
    return "\n\n".join(filter(None, parts))


def _quote(sentences: Sequence[str], marks: Mapping[str, str]) -> str:
    # Each sentence is one line that begins with a mark, so no text can start a heading or a list.
    return "\n>\n".join(f"> {rename_marks(disarm(sentence), marks)}" for sentence in sentences)


def write_step(event: Event, marks: Mapping[str, str]) -> str:
    """Describe one step of the pipeline, an event of its trace, in one line."""
    return rename_marks(disarm(trace_text(event)), marks)


def write_failure(reason: str) -> str:
    """Write the message for a run that broke off."""
    return disarm(f"The run broke off. {reason}")


@dataclass(frozen=True)
class TextChat:
    """Streams an answer to any OpenAI client: steps are sent as reasoning, and sources are listed in the text."""

    marks: Mapping[str, str]
    cites: bool

    def write_step(self, event: Event) -> Iterator[dict[str, Any]]:
        """Show one step of the pipeline as reasoning."""
        yield {"reasoning_content": f"{write_step(event, self.marks)}\n"}

    def write_end(self, result: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Show what was sent to models as reasoning, then the answer as content."""
        for line in write_sent_to_models(result, with_host=False):
            yield {"reasoning_content": f"{line}\n"}
        yield {"content": write_content(result, self.cites, self.marks), "prefrag": result}

    def write_failure(self, reason: str, result: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Say why the run broke off, without an answer."""
        yield {"content": write_failure(reason), "prefrag": result}


def strip_notes(content: str) -> str:
    """Remove from an earlier answer what :func:`write_content` added to it."""
    paragraphs = content.partition(f"\n\n{HEADING}\n")[0].split("\n\n")
    if any(paragraph in references.WITHOUT_ANSWER for paragraph in paragraphs):
        # Everything else in such an answer is quoted from passages.
        return NOT_ANSWERED
    # A model's own words stand above the sentences that carry them; a sentence of a passage stands alone.
    is_of_model = any(paragraph.startswith("> ") for paragraph in paragraphs)
    if not is_of_model:
        stated = _STATED.search(content)
        if stated:
            return re.sub(r"\\(.)", r"\1", stated[1])
        if any(paragraph.startswith("Probably: ") for paragraph in paragraphs):
            return NOT_ANSWERED
    own = [paragraph for paragraph in paragraphs if not paragraph.startswith((NOTE, UNSUPPORTED, "> "))]
    return _GIVEN.sub("", "\n\n".join(own))


def rename_marks(text: str, marks: Mapping[str, str]) -> str:
    """Rename the marks of passages. Otherwise a front end would take [1] for the first file attached to the chat."""
    if not marks:
        return text

    def rename(match: re.Match[str]) -> str:
        renamed = [new_name(mark) for mark in read_marks(match[1])]
        return f"[{', '.join(dict.fromkeys(renamed))}]"

    def new_name(mark: str) -> str:
        return marks.get(mark, mark) if mark[0] in "AW" else f"D{mark}"

    return MARKS.sub(rename, text)


def read_marks(inner: str) -> list[str]:
    """Find the single marks in a match of :data:`MARKS`."""
    return _MARK.findall(inner)


def write_note(result: Mapping[str, Any], cites: bool) -> str:
    """Write the note that says what the user should know about an answer."""
    says = []
    read = result.get("question")
    if read and read != result.get("asked", read):
        says.append(f"the question was read as \u201c{disarm(one_line(read))}\u201d")
    if result.get("answered_by") == "reader" and answer_parts(result):
        says.append("the extractive reader found this without a language model")
    elif words := references.unconfirmed_words(result):
        says.append(f"{references.OWN_WORDS} *{_without_emphasis(one_line(words).removesuffix('.'))}*")
    elif result.get("label") == Label.INCORRECT:
        says.append("the model's own check calls this answer incorrect")
    forced = references.forced_text(result)
    if forced:
        says.append(forced)
    why = references.ungrounded_text(result)
    if why:
        says.append(f"{why}, so the answer is the model's own")
    elif cites and references.cites_nothing(result):
        says.append("the answer cites none of the passages")
    says += [text.removesuffix(".") for text in result.get("without_model") or ()]
    failures = [str(event["message"]) for event in result.get("trace") or () if event.get("kind") == "model_failed"]
    says += [disarm(one_line(text)).removesuffix(".") for text in dict.fromkeys(failures)]
    failed = _failed_sources(result)
    if failed and not search_failures(result):
        says.append(f"{' and '.join(failed)} could not be searched")
    reasons = dict.fromkeys(query["reason"] for query in result.get("queries_held_back") or ())
    if reasons:
        what = "a query was held back" if result.get("queries_sent_out") else "the web was not searched"
        says.append(f"{what}: {disarm('; '.join(reasons))}")
    left_out = [str(event["text"]) for event in result.get("trace") or () if event.get("kind") == "left_out"]
    if left_out and result.get("queries_sent_out"):
        parts = "; ".join(f"\u201c{disarm(one_line(text))}\u201d" for text in dict.fromkeys(left_out))
        says.append(f"not sent to the web: {parts} (to search the web for this too, ask it as a question by itself)")
    sent = [disarm(one_line(query["query"])) for query in result.get("queries_sent_out") or ()]
    if sent:
        says.append(f"sent to the web: {', '.join(f'“{query}”' for query in dict.fromkeys(sent))}")
    return f"{NOTE} {'; '.join(says)}." if says else ""


def _without_emphasis(text: str) -> str:
    return re.sub(r"([*`\\])", r"\\\1", disarm(text))


def _failed_sources(result: Mapping[str, Any]) -> list[str]:
    searches = [event for event in result.get("trace") or () if event.get("kind") == "found"]
    sources = dict.fromkeys(event["source"] for event in searches)
    answered = {event["source"] for event in searches if event.get("titles") or not event.get("error")}
    return [source for source in sources if source not in answered]
