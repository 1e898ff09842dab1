"""Write the documents of a result as a numbered list, and the sentences that are relevant to the question."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from prefrag.components.state.state import Label
from prefrag.components.text.one_line import one_line
from prefrag.components.text.sentences import cut_text

HEADING = "Sources:"
NOT_ANSWERED = "Found, not answered."
NOT_IN_OWN, NOT_IN_PASSAGES = "Not found in your documents.", "Not in the passages found."
# All that can stand above the sentences of a result without an answer.
WITHOUT_ANSWER = (NOT_ANSWERED, NOT_IN_OWN, NOT_IN_PASSAGES)
OWN_WORDS = "the language model's own words, not confirmed:"
UNSUPPORTED = "Not in the passages:"
# The words for how sure an answer is, by the result's field `certainty`, and how code has checked a model's answer.
GIVEN = {"stated": "Stated", "probably": "Probably"}
CHECKED = {"stated": "by its words, in a passage", "probably": "compared with the passages"}
_shorten = partial(cut_text, characters=200, sign="...")
_BRACKETS = re.compile(r"\[(\s{0,9}[ADW]?\d{1,9}(?:\s{0,9}[,;]\s{0,9}[ADW]?\d{1,9})*\s{0,9})\]", re.IGNORECASE)


def references(result: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """List the documents that the model saw, each with its citation mark: ``1``, ``2``, ... or ``W1``, ... (web).

    The page of a document is that of its first sentence in the evidence or, if it has none there, of its best sentence.
    """
    shown = {quotation["mark"]: _page(quotation) for quotation in reversed(result.get("evidence") or ())}
    documents = [(document.get("mark", ""), document) for document in result.get("documents") or ()]
    return [(mark, {**document, **shown.get(mark, {})}) for mark, document in documents]


def _page(evidence: Mapping[str, object]) -> dict[str, Any]:
    return {name: evidence[name] for name in ("page", "line") if name in evidence}


def reference_text(mark: str, document: Mapping[str, object]) -> str:
    """Describe on one line what a document is and where it comes from."""
    return one_line(f"[{mark}] {without_marks(_describe(document))}{_address(document)}")


def sentence_text(document: Mapping[str, Any]) -> str:
    """Quote the sentence of a document that is most relevant to the answer or the query."""
    sentence = document.get("sentence")
    if not sentence:
        return ""
    # Drop the bars at the edges of a table row.
    words = one_line(document["content"][sentence["start"] : sentence["end"]]).strip("| ")
    return f"\u201c{without_marks(_shorten(words))}\u201d" if words else ""


def evidence_texts(result: Mapping[str, Any]) -> list[str]:
    """Write the sentences that carry a model's answer or, without an answer, those that are relevant."""
    documents, texts = dict(references(result)), list[str]()
    named: set[tuple[str, str | None]] = set()
    for quotation in result.get("evidence") or ():
        # A passage may lie in several sections, so each sentence has headings of its own.
        document = {**documents.get(quotation["mark"], {}), **quotation}
        key = (quotation["mark"], document.get("heading"))
        title = "" if key in named else title_text(document)
        named.add(key)
        # The list of documents names the page of the first sentence. A passage may go on over several pages.
        page = _page(quotation)
        if page != _page(documents.get(quotation["mark"], quotation)):
            places = [f"{name} {number}" for name, number in page.items()]
            title = ", ".join(filter(None, (title, *places)))
        words = ": ".join(filter(None, (title, quotation["sentence"])))
        texts.append(one_line(f"[{quotation['mark']}] {without_marks(words)}"))
    return texts


def answer_parts(result: Mapping[str, Any]) -> list[str]:
    """Write an answer as a sentence of a passage, in four parts: up to the answer, the answer, the rest, the source.

    The answer is empty if the reader found only a sentence. The list is empty if nothing was found, if a model's answer
    was not checked, or if it stands as a whole in no sentence: then it is shown in the model's own words.
    """
    word = GIVEN.get(result.get("certainty") or "")
    if word is None:
        return []
    first = result["evidence"][0]
    if result.get("answered_by") == "model" and not first.get("answer"):
        return []
    sentence, span = without_marks(first["sentence"]), first.get("answer")
    before, answer, behind = "", "", sentence
    if span:
        begin, end = span["start"], span["end"]
        before, answer, behind = sentence[:begin], sentence[begin:end], sentence[end:]
    elif result.get("answer"):
        # The answer to a comparison of dates may be only in the title, and not in the sentence.
        answer, behind = without_marks(result["answer"]), f": {sentence}"
    document = dict(references(result)).get(first["mark"], {})
    place = without_marks(", ".join(filter(None, (title_text(document), place_text(document), date_text(document)))))
    parts = [_on_one_line(part) for part in (before, answer, behind)]
    parts[0] = f"{word}: {parts[0]}"
    return [*parts, f" [{first['mark']}] ({one_line(place)})"]


def _on_one_line(part: str) -> str:
    """Write a part of a sentence on one line, with the blanks at its ends."""
    return one_line(f"|{part}|")[1:-1]


def date_text(document: Mapping[str, object]) -> str:
    """Write the date of a document, or else the date when its file was changed."""
    changed = f"changed {document['modified']} UTC" if document.get("modified") else ""
    where = " (from its name)" if document.get("date") and document.get("date_in") == "name" else ""
    return _shorten(str(document.get("date") or changed)) + where


def references_text(result: Mapping[str, object]) -> str:
    """Write the documents of a result as a list, each with its date and its sentence."""
    quoted = quoted_marks(result)
    lines = []
    for mark, document in references(result):
        sentence = "" if mark in quoted or mark.startswith("A") else sentence_text(document)
        words = ": ".join(filter(None, (without_marks(_describe(document)), sentence)))
        lines.append(one_line(f"[{mark}] {words}{_address(document)}"))
    return "\n".join([HEADING, *lines]) if lines else ""


def quoted_marks(result: Mapping[str, Any]) -> set[str]:
    """Find the citation marks of documents that are quoted above the list."""
    evidence = result.get("evidence") or ()
    if answer_parts(result):
        # The answer is shown in the first sentence, and the others are left out.
        evidence = evidence[:1]
    return {quotation["mark"] for quotation in evidence}


def _describe(document: Mapping[str, object]) -> str:
    place = ", ".join(filter(None, (place_text(document), date_text(document))))
    return f"{title_text(document) or document.get('id')} ({place})"


def place_text(document: Mapping[str, Any], write_file: Callable[[str], str] = str) -> str:
    """Write where a document comes from."""
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


def not_answered_text(result: Mapping[str, Any]) -> str:
    """Say that there is no answer and, if code found none in the passages for a model, where it is not."""
    trace = result.get("trace") or ()
    checks = [event for event in trace if event.get("kind") in ("checked", "read")]
    last = checks[-1] if checks else {}
    searches = [event for event in trace if event.get("kind") == "found"]
    if searches and all(event.get("error") for event in searches):
        return NOT_ANSWERED
    # An answer with a probability stands in a passage, but is not likely enough.
    if (last.get("kind"), last.get("certainty")) != ("checked", "not_found") or result.get("probability"):
        return NOT_ANSWERED
    searched_web = bool((result.get("counts") or {}).get("total_web"))
    has_web_page = any(mark.startswith("W") for mark, _ in references(result))
    return NOT_IN_PASSAGES if searched_web or has_web_page else NOT_IN_OWN


def unconfirmed_words(result: Mapping[str, object]) -> str:
    """Return a model's own words that are not given as an answer. The reader's guess is not for people."""
    return str(result.get("guess") or "") if result.get("answered_by") == "model" else ""


def shown_label(result: Mapping[str, object]) -> str:
    """Return the model's own label, but no CORRECT where there is no passage."""
    label = str(result.get("label") or "")
    return label if result.get("documents") or label != Label.CORRECT else ""


def label_text(result: Mapping[str, Any]) -> str:
    """Write how far a model's answer can be trusted: by what code has checked, else by the model's own label."""
    label, forced = shown_label(result), forced_text(result)
    check = CHECKED.get(result.get("certainty") or "")
    if check:
        text = f"Check: {check}; the model labels it {label}" if label else f"Check: {check}"
    else:
        text = f"Label: {label or 'no label'}"
    return f"{text} (forced: {forced})" if forced else text


def forced_text(result: Mapping[str, Any]) -> str:
    """Say why an answer may be incomplete, if the model did not end by itself and no passage states the answer."""
    if not result.get("forced") or result.get("certainty") in ("stated", "not_found"):
        return ""
    ran_out = any(event.get("kind") == "exhausted" for event in result.get("trace") or ())
    return "the model ran out of steps and had to answer" if ran_out else "the model did not end by itself"


def ungrounded_text(result: Mapping[str, Any]) -> str:
    """Say why an answer rests on no passage; empty if there are passages."""
    if not result.get("answer") or result.get("documents"):
        return ""
    counts = result.get("counts") or {}
    return "no passage was found" if counts.get("total") else "nothing was searched"


def cites_nothing(result: Mapping[str, object]) -> bool:
    """Check whether an answer names no passage: it cites none, and is not shown with the sentence that carries it."""
    return bool(result.get("uncited")) and result.get("certainty") not in GIVEN


def title_text(document: Mapping[str, Any]) -> str:
    """Write the title of a document and its headings, without a first heading that repeats the title."""
    title, heading = str(document.get("title") or ""), document.get("heading") or ""
    if heading == title or heading.startswith(f"{title} > "):
        heading = heading[len(f"{title} > ") :]
    return " > ".join(filter(None, (_shorten(title), _shorten(heading))))


def _address(document: Mapping[str, object]) -> str:
    return f" {document['url']}" if document.get("url") else ""


def without_marks(text: str) -> str:
    """Replace brackets around numbers by parentheses, so that the numbers are not mistaken for citation marks."""
    return _BRACKETS.sub(r"(\1)", text)
