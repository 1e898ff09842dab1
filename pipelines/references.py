"""Write the answer of a result, its documents as a numbered list, and the sentences that are relevant to the question.

The terminal, the chat protocol and the tools for models use these texts. A citation mark is the number of a document:
``1`` for a local document, ``W1`` for a web page, ``A1`` for an attached text. The evidence of a result is a list of
sentences, each with the mark of its document.
"""

import re
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from prefrag.components.state.places import Place
from prefrag.components.state.result import FoundDocument, Quotation, Result
from prefrag.components.state.state import Label
from prefrag.components.text.one_line import one_line
from prefrag.components.text.sentences import cut_text

# The line above the list of documents.
HEADING = "Sources:"
# The line in place of an answer if sentences are shown that may not answer the question.
NOT_ANSWERED = "No sure answer."
# The line in place of an answer if the answer is in no local document, and only local documents were searched.
NOT_IN_OWN = "Not found in your documents."
# The line in place of an answer if the answer is in no passage, and the passages may be from the web.
NOT_IN_PASSAGES = "Not in the passages found."
# All lines that may stand in place of an answer. Conversations of earlier versions have the last.
WITHOUT_ANSWER = (NOT_ANSWERED, NOT_IN_OWN, NOT_IN_PASSAGES, "Found, not answered.")
# The words before a model's answer that no passage confirms.
OWN_WORDS = "the language model's own words, not confirmed:"
# The words before sentences of an answer that are in no passage.
UNSUPPORTED = "Not in the passages:"
# The words for how sure an answer is, by the field `certainty` of the result. Without such a word, the answer is not
# shown as an answer from a passage.
GIVEN = {"stated": "Stated", "probably": "Probably"}
# How a model's answer was checked by code, by the field `certainty` of the result.
CHECKED = {"stated": "by its words, in a passage", "probably": "compared with the passages"}
# Cuts titles and sentences to 200 characters.
_shorten = partial(cut_text, characters=200, sign="...")
# One or more numbers in brackets, which look like citation marks. Group 1 is the text between the brackets.
# Matches: "[2]", "[W3; 4]". Does not match: "[note]", "(2)".
_BRACKETS = re.compile(r"\[(\s{0,9}[ADW]?\d{1,9}(?:\s{0,9}[,;]\s{0,9}[ADW]?\d{1,9})*\s{0,9})\]", re.IGNORECASE)


class AnswerInSentence(NamedTuple):
    """An answer as it is shown in the sentence of a passage.

    :param before: How sure the answer is, and the words of the sentence before the answer.
    :param answer: The answer. Empty if the reader found only a sentence.
    :param behind: The words of the sentence behind the answer.
    :param source: The citation mark, the title, the place and the date of the document.
    """

    before: str
    answer: str
    behind: str
    source: str


def references(result: Result) -> list[tuple[str, FoundDocument]]:
    """List the documents that the model saw, each with its citation mark.

    :param result: The result of a run.
    :returns: Pairs of a mark and a document. The page of a document is the page of its first sentence in the evidence.
        Without such a sentence, it is the page of its most relevant sentence.
    """
    shown = {quotation["mark"]: _page(quotation) for quotation in reversed(result.get("evidence") or ())}
    documents: list[tuple[str, FoundDocument]] = []
    for document in result.get("documents") or ():
        mark = document.get("mark", "")
        documents.append((mark, {**document, **shown.get(mark, {})}))
    return documents


def _page(entry: FoundDocument | Quotation) -> Place:
    """Return the fields of a document or a sentence that say where it stands, as far as they are set."""
    place: Place = {}
    if "page" in entry:
        place["page"] = entry["page"]
    if "line" in entry:
        place["line"] = entry["line"]
    return place


def reference_text(mark: str, document: FoundDocument) -> str:
    """Describe on one line what a document is and where it comes from.

    For example, ``reference_text("1", {"title": "Manual", "source": "local", "page": 3})`` returns
    ``"[1] Manual (local, page 3)"``.

    :param mark: The citation mark of the document.
    :param document: The document, as a result lists it.
    :returns: The line.
    """
    return one_line(f"[{mark}] {without_marks(_describe(document))}{_address(document)}")


def sentence_text(document: FoundDocument) -> str:
    """Quote the sentence of a document that is most relevant to the answer or the query.

    :param document: The document, as a result lists it.
    :returns: The sentence in quotation marks, cut to 200 characters. Empty if the document has no such sentence.
    """
    sentence = document.get("sentence")
    if not sentence:
        return ""
    # A row of a table has bars at its ends. They are left out.
    words = one_line(document["content"][sentence["start"] : sentence["end"]]).strip("| ")
    return f"\u201c{without_marks(_shorten(words))}\u201d" if words else ""


def evidence_texts(result: Result) -> list[str]:
    """Write the sentences of the evidence: those with the answer or, without an answer, the relevant ones.

    :param result: The result of a run.
    :returns: A line for each sentence, with its mark. The title of a document stands only before its first sentence.
    """
    documents = dict(references(result))
    texts: list[str] = []
    # The documents and sections whose title was written.
    with_title: set[tuple[str, str | None]] = set()
    for quotation in result.get("evidence") or ():
        # A passage may be in several sections, so each sentence has its own headings.
        document = documents.get(quotation["mark"], {})
        heading = quotation.get("heading", document.get("heading"))
        key = (quotation["mark"], heading)
        title = ""
        if key not in with_title:
            title = title_text({"title": quotation.get("title", document.get("title", "")), "heading": heading})
        with_title.add(key)

        # The list of documents names the page of the first sentence. A sentence on another page gets that page here.
        page = _page(quotation)
        if page != _page(documents.get(quotation["mark"], quotation)):
            places = [f"{name} {number}" for name, number in page.items()]
            title = ", ".join(filter(None, (title, *places)))
        words = ": ".join(filter(None, (title, quotation["sentence"])))
        texts.append(one_line(f"[{quotation['mark']}] {without_marks(words)}"))
    return texts


def answer_parts(result: Result) -> AnswerInSentence | None:
    """Write an answer as a sentence of a passage.

    :param result: The result of a run.
    :returns: The sentence in parts. None if nothing was found, or a model's answer was not checked. Also None if no
        sentence has the whole answer of a model. Such an answer is shown in the model's own words.
    """
    word = GIVEN.get(result.get("certainty") or "")
    if word is None:
        return None
    first = result["evidence"][0]
    if result.get("answered_by") == "model" and not first.get("answer"):
        return None

    sentence = without_marks(first["sentence"])
    # Where in the sentence the answer stands.
    span = first.get("answer")
    before, answer, behind = "", "", sentence
    if span:
        begin, end = span["start"], span["end"]
        before, answer, behind = sentence[:begin], sentence[begin:end], sentence[end:]
    elif result.get("answer"):
        # The answer to a comparison of dates may be only in the title, and not in the sentence.
        answer, behind = without_marks(result["answer"]), f": {sentence}"

    document = dict(references(result)).get(first["mark"], {})
    place = without_marks(", ".join(filter(None, (title_text(document), place_text(document), date_text(document)))))
    return AnswerInSentence(
        f"{word}: {_on_one_line(before)}",
        _on_one_line(answer),
        _on_one_line(behind),
        f" [{first['mark']}] ({one_line(place)})",
    )


def _on_one_line(part: str) -> str:
    """Write a part of a sentence on one line. A blank at its beginning or end stays.

    For example, ``_on_one_line(" in  May ")`` returns ``" in May "``.
    """
    # Without the bars, the blanks at the ends would be dropped.
    return one_line(f"|{part}|")[1:-1]


def date_text(document: FoundDocument) -> str:
    """Write the date of a document. Without a date, write when its file was changed.

    For example, ``date_text({"date": "2024-05", "date_in": "name"})`` returns ``"2024-05 (from its name)"``.

    :param document: The document, as a result lists it.
    :returns: The text, or an empty text if neither date is known.
    """
    changed = f"changed {document['modified']} UTC" if document.get("modified") else ""
    where = " (from its name)" if document.get("date") and document.get("date_in") == "name" else ""
    return _shorten(str(document.get("date") or changed)) + where


def references_text(result: Result) -> str:
    """Write the documents of a result as a list, each with its date and its most relevant sentence.

    :param result: The result of a run.
    :returns: The lines, with the heading. Empty if there are no documents. A document that is quoted above the list has
        no sentence, and an attached text has none.
    """
    quoted = quoted_marks(result)
    lines = []
    for mark, document in references(result):
        sentence = "" if mark in quoted or mark.startswith("A") else sentence_text(document)
        words = ": ".join(filter(None, (without_marks(_describe(document)), sentence)))
        lines.append(one_line(f"[{mark}] {words}{_address(document)}"))
    return "\n".join([HEADING, *lines]) if lines else ""


def quoted_marks(result: Result) -> set[str]:
    """Find the citation marks of the documents that are quoted above the list.

    :param result: The result of a run.
    :returns: The marks.
    """
    evidence = result.get("evidence") or ()
    if answer_parts(result):
        # The answer is shown in the first sentence, and the other sentences are left out.
        evidence = evidence[:1]
    return {quotation["mark"] for quotation in evidence}


def _describe(document: FoundDocument) -> str:
    """Write the title of a document, or its id, with its place and date in parentheses."""
    place = ", ".join(filter(None, (place_text(document), date_text(document))))
    return f"{title_text(document) or document.get('id')} ({place})"


def place_text(document: FoundDocument, write_file: Callable[[str], str] = str) -> str:
    """Write where a document comes from: its source, file, page and passage.

    For example, ``place_text({"source": "local", "file": "a.pdf", "page": 3})`` returns ``"local, a.pdf, page 3"``.

    :param document: The document, as a result lists it.
    :param write_file: A function that writes the path of the file, for example as a link.
    :returns: The parts, joined with commas.
    """
    place = [str(document.get("source") or "")]
    if document.get("file"):
        place.append(write_file(str(document["file"])))
    if document.get("attachment") and document.get("mail"):
        place.append(f"attached to {_shorten(str(document['mail']))}")
    place += [f"{name} {document[name]}" for name in ("page", "line") if document.get(name) is not None]
    position = document.get("position")
    if position:
        place.append(f"passage {position['number']} of {position['of']}")
    place.append(str(document.get("standing") or ""))
    return ", ".join(filter(None, place))


def not_answered_text(result: Result) -> str:
    """Write the line in place of an answer.

    :param result: The result of a run without an answer.
    :returns: :data:`NOT_IN_OWN` or :data:`NOT_IN_PASSAGES` if code has looked for a model's answer in the passages and
        has not found it. Otherwise :data:`NOT_ANSWERED`.
    """
    trace = result.get("trace") or ()
    checks = [event for event in trace if event.get("kind") in ("checked", "read")]
    last = checks[-1] if checks else {}
    searches = [event for event in trace if event.get("kind") == "found"]
    if searches and all(event.get("error") for event in searches):
        return NOT_ANSWERED
    was_not_found = last.get("kind") == "checked" and last.get("certainty") == "not_found"
    # If the answer has a probability, it stands in a passage, but the probability is too low.
    if not was_not_found or result.get("probability"):
        return NOT_ANSWERED
    searched_web = bool((result.get("counts") or {}).get("total_web"))
    has_web_page = any(mark.startswith("W") for mark, _ in references(result))
    return NOT_IN_PASSAGES if searched_web or has_web_page else NOT_IN_OWN


def unconfirmed_words(result: Result) -> str:
    """Return the words of a model that do not count as an answer.

    :param result: The result of a run.
    :returns: The words, or an empty text if there are none. A guess of the reader is left out, because users do not see
        it.
    """
    return str(result.get("guess") or "") if result.get("answered_by") == "model" else ""


def shown_label(result: Result) -> str:
    """Return the label with which the model has marked its answer, such as CORRECT.

    :param result: The result of a run.
    :returns: The label, or an empty text if there is none. CORRECT is left out if there is no passage.
    """
    label = str(result.get("label") or "")
    return label if result.get("documents") or label != Label.CORRECT else ""


def label_text(result: Result) -> str:
    """Write how far a model's answer can be trusted.

    :param result: The result of a run.
    :returns: How code has checked the answer. If it was not checked, the label of the model.
    """
    label = shown_label(result)
    forced = forced_text(result)
    check = CHECKED.get(result.get("certainty") or "")
    if check:
        text = f"Check: {check}; the model labels it {label}" if label else f"Check: {check}"
    else:
        text = f"Label: {label or 'no label'}"
    return f"{text} (forced: {forced})" if forced else text


def forced_text(result: Result) -> str:
    """Write why an answer may be incomplete.

    :param result: The result of a run.
    :returns: The reason, or an empty text if the model ended by itself. Also empty if code has found the answer in a
        passage, or has found it in no passage.
    """
    if not result.get("forced") or result.get("certainty") in ("stated", "not_found"):
        return ""
    ran_out = any(event.get("kind") == "exhausted" for event in result.get("trace") or ())
    return "the model ran out of steps and had to answer" if ran_out else "the model did not end by itself"


def ungrounded_text(result: Result) -> str:
    """Write why an answer has no passage.

    :param result: The result of a run.
    :returns: The reason, or an empty text if there are passages, or no answer.
    """
    if not result.get("answer") or result.get("documents"):
        return ""
    counts = result.get("counts") or {}
    return "no passage was found" if counts.get("total") else "nothing was searched"


def cites_nothing(result: Result) -> bool:
    """Check whether an answer names no passage: it cites none, and is not shown in a sentence of a passage.

    :param result: The result of a run.
    :returns: True if no passage is named.
    """
    return bool(result.get("uncited")) and result.get("certainty") not in GIVEN


def title_text(document: FoundDocument) -> str:
    """Write the title of a document and its headings, without a first heading that repeats the title.

    For example, ``title_text({"title": "Manual", "heading": "Manual > Valves"})`` returns ``"Manual > Valves"``.

    :param document: The document, as a result lists it. Its ``heading`` has the headings, joined with ``>``.
    :returns: The text, or an empty text if the document has neither.
    """
    title = str(document.get("title") or "")
    heading = document.get("heading") or ""
    if heading == title:
        heading = ""
    heading = heading.removeprefix(f"{title} > ")
    return " > ".join(filter(None, (_shorten(title), _shorten(heading))))


def _address(document: FoundDocument) -> str:
    """Write the address of a document with a blank before it, or an empty text if it has none."""
    return f" {document['url']}" if document.get("url") else ""


def without_marks(text: str) -> str:
    """Replace brackets around numbers by parentheses, so that the numbers are not mistaken for citation marks.

    For example, ``without_marks("See [2] and [note].")`` returns ``"See (2) and [note]."``.

    :param text: The text of a document.
    :returns: The changed text.
    """
    return _BRACKETS.sub(r"(\1)", text)
