"""Give the front end Open WebUI its own base URL, ``/open-webui/v1``.

Replies under this URL contain chat events, which ordinary clients of the OpenAI protocol do not know. Open WebUI shows
an event as a status line or as a source below the answer.

A pipeline cites a passage by a mark such as "[1]", "[W2]" for the web or "[A1]" for an attached file. Open WebUI cites
by the number of a source, and draws it as a small round button, a chip. So the marks in the text of the answer are
replaced by these numbers.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from types import MappingProxyType

from hayhooks.open_webui import create_source_event, create_status_event
from starlette.types import ASGIApp, Receive, Scope, Send

from prefrag.components.state.result import FoundDocument, Result
from prefrag.components.state.state import Event
from prefrag.components.text.controls import strip_controls
from prefrag.components.text.distinct import distinct
from prefrag.components.text.one_line import one_line
from prefrag.components.text.sentences import cut_text
from prefrag.pipelines.references import CHECKED, GIVEN, not_answered_text, shown_label, title_text
from prefrag.pipelines.sent_to_models import write_sent_to_models
from prefrag.server.chat import chat_text
from prefrag.server.http.security import path_of

# The beginning of the paths that Open WebUI uses.
PREFIX = "/open-webui"
# Whether the current request gets chat events. `OpenWebUIRoutes` sets this before the pipeline of the request runs.
shows_events: ContextVar[bool] = ContextVar("shows_events", default=False)
# Kinds of events of the trace without a status line. The answer is sent as text. An observation, which the model reads
# after a search, only repeats what the search events have said.
_NOT_SHOWN = ("answer", "observation")
# Kinds of events of the trace that are shown as reasoning of the model.
_THOUGHTS = ("thought", "look_ahead")
# A status line is cut to this many characters.
_MAX_STATUS_CHARACTERS = 300
# Code or marks of passages, whichever comes first. In code, square brackets are not marks, so code is matched as a
# whole, as the group `code`. The alternatives are:
# - a code block between "```" and "```"; without an end, it goes on to the end of the text
# - code inside a line, such as "`a[1]`"
# - marks in square brackets, such as "[1, W2]"
_CODE_OR_MARKS = re.compile(rf"(?P<code>```(?:(?!```)[\s\S])*+(?:```|\Z)|`[^`\n]*+`)|{chat_text.MARKS.pattern}")
# The beginning of a web address, in small or capital letters.
_ADDRESS = re.compile(r"(?i)http")


class OpenWebUIRoutes:
    """Offer the routes under ``/v1`` also under ``/open-webui/v1``. Requests there get chat events.

    :param app: The next application.
    """

    def __init__(self, app: ASGIApp):
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, with the prefix removed from its path."""
        if scope["type"] == "http":
            path = path_of(scope)
            has_prefix = path.startswith(f"{PREFIX}/v1/")
            shows_events.set(has_prefix)
            if has_prefix:
                # Act as if the application were mounted at the prefix. Then it sees only the rest of the path. A proxy
                # may have put its own prefix before ours.
                prefix_of_proxy = scope["path"].removesuffix(path)
                scope = {**scope, "root_path": prefix_of_proxy + PREFIX}
        await self.app(scope, receive, send)


@dataclass(frozen=True)
class EventChat:
    """Streams an answer to Open WebUI. Steps become status lines, and cited passages become sources.

    Each method yields the fields of one or more chunks of the stream.
    """

    # For the mark of each attached passage, such as A1, the number that Open WebUI shows.
    marks: Mapping[str, str]
    # The highest number that Open WebUI has given to an attached file. Our own sources get higher numbers.
    highest_of_files: int
    # Whether the model was asked to cite passages.
    cites: bool

    def write_step(self, event: Event) -> Iterator[dict[str, object]]:
        """Show a step of the pipeline as reasoning or as a status line."""
        line = hide_marks(chat_text.write_step(event, {}))
        if event.kind in _THOUGHTS:
            yield {"reasoning_content": f"{line}\n"}
        elif event.kind not in _NOT_SHOWN:
            yield {"event": write_status(line)}

    def write_end(self, result: Result) -> Iterator[dict[str, object]]:
        """Write the sources, the last status line and the answer."""
        content = chat_text.write_content(result, self.cites, {}, lists_sources=False)
        # A file without a number keeps its own mark. Open WebUI does not list it, so it becomes a source of ours.
        files = {mark: number for mark, number in self.marks.items() if number.isdecimal()}
        numbered, sources = number_sources(content, result.get("documents") or (), files, self.highest_of_files)
        for event in [*sources, write_summary(result)]:
            yield {"event": event}
        yield {"content": numbered}

    def write_failure(self, reason: str, result: Result) -> Iterator[dict[str, object]]:
        """Say why the run broke off, without an answer."""
        yield {"event": write_status("The run broke off", done=True)}
        yield {"content": hide_marks(chat_text.write_failure(reason))}


def write_status(text: str, done: bool = False) -> dict[str, object]:
    """Make the event that shows a status line in the chat.

    :param text: The line. A long text is cut.
    :param done: Whether this is the last status line, so that Open WebUI stops showing that something is going on.
    """
    event = create_status_event(cut_text(text, _MAX_STATUS_CHARACTERS, "..."), done=done)
    return dict(event.to_event_dict())


def write_summary(result: Result) -> dict[str, object]:
    """Make the last status line of a run.

    The line says how sure the answer is, how many searches there were, and what was sent to other machines. An example
    is "Stated, by its words, in a passage · 2 searches · nothing sent out".

    :param result: The result of the run.
    """
    searches = (result.get("counts") or {}).get("total", 0)
    search_word = "search" if searches == 1 else "searches"
    parts = [_judge_answer(result), f"{searches} {search_word}", *_list_sent_out(result)]
    return write_status(" · ".join(parts), done=True)


def _list_sent_out(result: Result) -> list[str]:
    """List what was sent to other machines, such as "2 queries sent to the web", or say that nothing was."""
    sent_out = []
    queries = len(result.get("queries_sent_out") or ())
    if queries:
        query_word = "query" if queries == 1 else "queries"
        sent_out.append(f"{queries} {query_word} sent to the web")
    for line in write_sent_to_models(result, with_host=False):
        sent_out.append(line.removesuffix("."))
    return sent_out or ["nothing sent out"]


def number_sources(
    content: str,
    documents: Sequence[FoundDocument],
    files: Mapping[str, str] = MappingProxyType({}),
    highest_of_files: int = 0,
) -> tuple[str, list[dict[str, object]]]:
    """Replace marks of passages, such as [W2], by the numbers of Open WebUI's sources.

    Open WebUI numbers the sources in the order in which they arrive, behind the attached files, which it lists itself.
    So the first cited passage gets the number ``highest_of_files + 1``, the next one the number after that, and so on.

    For example, "Ada [W2], then Bo [1]" becomes "Ada [1], then Bo [2]", and the passage W2 is the first source.

    :param content: The text of the answer.
    :param documents: The passages of the result.
    :param files: The numbers that Open WebUI has given to attached files, by the mark of the passage.
    :param highest_of_files: The highest of these numbers. 0 if no file is attached.
    :returns: The text with numbers, and an event for each source. If the text cites nothing, all passages are sources.
    """
    by_mark = {document["mark"]: document for document in documents}
    numbers = _number_marks(_cited_marks(content, by_mark), files, highest_of_files)

    def write_numbers(match: re.Match[str]) -> str:
        """Write what replaces code or marks. Code stays as it is."""
        if match["code"]:
            return match[0]
        # Open WebUI shows numbers as separate chips only if spaces separate them.
        follows_chip = content.endswith("]", 0, match.start())
        return _write_chips(match[0], numbers, follows_chip)

    numbered = _CODE_OR_MARKS.sub(write_numbers, content)
    # If the answer cites nothing, all passages are shown.
    shown_marks = numbers or by_mark
    sources = [_source_event(by_mark[mark]) for mark in shown_marks if mark not in files]
    return numbered, sources


def _cited_marks(content: str, by_mark: Mapping[str, object]) -> list[str]:
    """List the marks of passages that a text cites, in order.

    Brackets such as [1, 9] cite nothing if one of their marks belongs to no passage. Brackets in code cite nothing.
    """
    cited_marks: list[str] = []
    for match in _CODE_OR_MARKS.finditer(content):
        marks = [] if match["code"] else chat_text.read_marks(match[0])
        if all(mark in by_mark for mark in marks):
            cited_marks += marks
    return cited_marks


def _number_marks(cited_marks: Sequence[str], files: Mapping[str, str], highest_of_files: int) -> dict[str, str]:
    """Give each cited mark its number: that of its attached file, or the next number that is free.

    For example, ``_number_marks(["W2", "A1", "1"], {"A1": "1"}, 1)`` returns ``{"W2": "2", "A1": "1", "1": "3"}``.

    :param cited_marks: The cited marks in order. A mark may occur several times.
    :param files: The numbers of attached files, by their marks.
    :param highest_of_files: The highest of these numbers.
    :returns: The number of each mark, in the order of the marks.
    """
    numbers: dict[str, str] = {}
    highest = highest_of_files
    for mark in distinct(cited_marks):
        number_of_file = files.get(mark)
        if number_of_file:
            numbers[mark] = number_of_file
        else:
            highest += 1
            numbers[mark] = str(highest)
    return numbers


def _write_chips(brackets: str, numbers: Mapping[str, str], follows_chip: bool) -> str:
    """Replace the marks in brackets by their numbers, each in brackets of its own.

    For example, ``_write_chips("[W2, 1]", {"W2": "1", "1": "2"}, False)`` returns ``"[1] [2]"``.

    :param brackets: The marks with their square brackets.
    :param numbers: The number of each cited mark.
    :param follows_chip: Whether other brackets stand directly before these. Then a space is put between them.
    :returns: The numbers. If a mark has no number, the text stands in round brackets instead, because Open WebUI drops
        square brackets whose number belongs to no source.
    """
    marks = chat_text.read_marks(brackets)
    if not all(mark in numbers for mark in marks):
        between_brackets = brackets[1:-1]
        return f"({between_brackets})"
    different_numbers = distinct(numbers[mark] for mark in marks)
    chips = " ".join(f"[{number}]" for number in different_numbers)
    return f" {chips}" if follows_chip else chips


def hide_marks(text: str) -> str:
    """Put the marks of passages into round brackets, so that Open WebUI does not take them for numbers of sources.

    For example, ``hide_marks("As [1] says")`` returns ``"As (1) says"``.

    :param text: The text.
    """
    return chat_text.MARKS.sub(r"(\1)", text)


def _source_event(document: FoundDocument) -> dict[str, object]:
    """Make the event that shows a passage among the sources of the chat."""
    mark = document["mark"]
    if mark.startswith("A"):
        where = "attached file"
    elif mark.startswith("W"):
        where = str(document.get("source"))
    else:
        where = "your documents"

    file_or_id = str(document.get("file") or document.get("id"))
    title = strip_controls(one_line(title_text(document) or file_or_id))
    # The number of the passage in its file, and of how many.
    position = document.get("position") or {"of": 1}
    number_in_file = f", passage {position['number']}" if position["of"] > 1 else ""
    name = f"{title}{number_in_file} ({where})"
    # If a name begins like a web address, Open WebUI fetches an icon from a third party.
    if _ADDRESS.match(name):
        name = f"page {name}"

    # Each passage needs its own `source`. Otherwise Open WebUI shows several passages as one chip.
    metadata: dict[str, object] = {"source": f"prefrag-{mark}", "name": name}
    page = document.get("page")
    if isinstance(page, int):
        # Open WebUI counts pages from 0.
        metadata["page"] = page - 1
    source = {"name": name, "url": document.get("url") or ""}
    event = create_source_event({"source": source, "document": [_write_passage(document)], "metadata": [metadata]})
    return dict(event.to_event_dict())


def _write_passage(document: FoundDocument) -> str:
    """Write the text of a passage in Markdown, with its best sentence in bold.

    For example, the passage "A. B. C." becomes "A. **B.** C." if "B." is its best sentence. Nothing is in bold if there
    is no best sentence, or if bold type would not work for it.
    """
    content = str(document.get("content") or "")
    # The indices of the best sentence in the content.
    span = document.get("sentence")
    if not span:
        return chat_text.disarm(content)

    start, end = span["start"], span["end"]
    before, sentence, after = content[:start], content[start:end], content[end:]
    words = sentence.strip()
    # Stars inside bold type, or a blank line, would end it early.
    breaks_bold_type = "*" in words or "\n\n" in words
    if not words or breaks_bold_type:
        return chat_text.disarm(content)
    # The blanks at both ends of the sentence stand outside the bold type.
    leading_blanks, _, trailing_blanks = sentence.partition(words)
    bold_words = f"**{chat_text.disarm(words)}**"
    return f"{chat_text.disarm(before)}{leading_blanks}{bold_words}{trailing_blanks}{chat_text.disarm(after)}"


def _judge_answer(result: Result) -> str:
    """Say how sure an answer is, such as "Probably, compared with the passages" or "No answer".

    The order matters: a check by code comes before the model's own check, and a question back is no answer at all.
    """
    if result.get("asked_back"):
        return "Asked you a question"

    # How the model labels its own answer, such as CORRECT; empty if it has no label.
    label = shown_label(result)
    certainty = result.get("certainty") or ""
    certainty_word = GIVEN.get(certainty)
    if certainty_word:
        is_from_reader = result.get("answered_by") == "reader"
        how = "read without a language model" if is_from_reader else CHECKED[certainty]
        own_check = f", {label.lower()} by the model's own check" if label else ""
        return f"{certainty_word}, {how}{own_check}"

    if result.get("not_found"):
        return not_answered_text(result).removesuffix(".")
    if not result.get("answered"):
        return "No answer"
    return f"{label.capitalize()} by the model's own check" if label else "Not checked"
