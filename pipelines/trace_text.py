"""Write the trace of a run in words.

The trace is the list of events of a run, such as a search or an answer. Each kind of event has a sentence in the table
:data:`SENTENCES`, which the terminal, the chat protocol and the web page all use.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest

from prefrag.components.state.events import EventData, TitleScore
from prefrag.components.state.state import Event
from prefrag.components.text.one_line import one_line
from prefrag.components.text.sentences import cut_text

# A sentence for each kind of event. `{field}` is replaced by the value of the field. `<field?words>` shows the words if
# the field has a value. `<!field?words>` shows the words if the field has no value.
SENTENCES = {
    "answer": "<forced?Forced answer><!forced?Answer>: {text}<label? [the model's label: {label}]>",
    "asked_back": "Asked back: {text}",
    "calls_dropped": "Of several tool calls in one reply only the first is used, {number} dropped",
    "checked": "Checked: {text} ({certainty}<probability?, {probability:.0%} likely>)",
    "checked nothing": "Checked: the model gives no answer from the passages",
    "closed": "Not searched: {sources} ({reason})",
    "confirmed": (
        "Asked whether a sentence states {text}: <probability?Yes with {probability:.0%}><!probability?no clear reply>"
    ),
    "critique": (
        "From {document}: {answer} (<relevant?relevant><!relevant?irrelevant>, {support}, usefulness {usefulness}, "
        "score {score}<unparsed?; not all of it could be read>)"
    ),
    "cut": (
        "Cut to fit the {caller}'s window of {context_window} tokens (passages left out: "
        "{documents_cut}, shortened: {documents_shortened})"
    ),
    "filed_as_reasoning": "Only reasoning in the reply of the {caller}: {message}",
    "cut_off": "Reply of the {caller} cut off<limit? at {limit} tokens>: {setting} sets how long it may be",
    "error": "Error of the {caller}: {message}",
    "evaluated": (
        "Evaluated {source}: {action} (<unparsed?by the setting on_doubt, because the model's reply could not be read>"
        "<!unparsed?{judged_by}>). {reason} Scores: {scores}"
    ),
    "exhausted": "Out of steps: the next reply must be an answer (replies so far: {replies})",
    "found": (
        "Found in {source} ({number} in {took}<sent_out?, the query was sent out>): {titles}"
        "<error?; part of it failed: {error}><before?; failed before: {before}>"
    ),
    "found nothing": "Search of {source} failed: {error}",
    "held_back": "Held back from {source}: {query} ({reason})",
    "instructions_cut": "The instructions have {characters:,} characters: the first {kept:,} are used",
    "kept": "Kept this sentence: {text} (its least likely token: {token}, {lowest:.0%})",
    "left_out": "Left out of the query to {source}: {text}",
    "look_ahead": "Drafted: {text} (its least likely token: {token}, {lowest:.0%}; left out of the query: {masked})",
    "model_failed": "Goes on without the language model: {message}",
    "no_further_search": "No further search: the next reply must be an answer (replies so far: {replies})",
    "observation": "Observed from {source}: {documents}",
    "popularity": (
        "Popularity: <counts?{counts} (threshold {threshold})><!counts?no name counted>, so "
        "<retrieves?passages are retrieved><!retrieves?no passages are retrieved><error?. Counting failed: {error}>"
    ),
    "progress": "The model <total?reads: {read:,} of {total:,} tokens><!total?writes: {written:,} tokens>",
    "question_class": "Class: {chosen} ({probability:.0%} likely; {reason})",
    "read": "Read: {text} ({probability:.0%} likely, {given})",
    "read nothing": "Read: the passages do not contain an answer",
    "refined": (
        "Summarised the observation of step {of_step}: {tokens_before} to {tokens_after} tokens"
        "<unused?, not used because it is no shorter>"
    ),
    "reflection": (
        "Reflection: the answer <label?is labelled {label}><!label?has no label>"
        "<supplement?, so every source is searched once more><explanation?. {explanation}>"
    ),
    "repeated": "Asked already: {query}. Another query is searched instead",
    "retrieval": (
        "Retrieve: <status?the documents are searched><!status?no document is needed>"
        "<unparsed? (two replies could not be read)><explanation?. {explanation}>"
    ),
    "review": "Review: {status}<supplement?, so one more search follows><explanation?. {explanation}>.",
    "rewritten": "Question understood as: {question}",
    "not rewritten": "Follow-up: could not be rewritten to stand alone, so it is used unchanged",
    "search": "Search {source}: {query}",
    "selection": "Selected by {method}<pairs? (pairs classified: {pairs}, positive: {positive})>: {documents}",
    "steered": "Steered to {source}, although the model named {named} ({reason})",
    "strips": (
        "Refined {source}: {kept} of {number} strips kept<judged_by? ({judged_by})>"
        "<unparsed?, because their scores could not be read>. Scores: {scores}"
    ),
    "thought": "Thought: {text}",
    "unknown_action": "Unknown action: '{tool}', the model gets a correction",
    "unreadable": (
        "Unreadable reply<caller? of the {caller}><again?: the {caller} is called once more>"
        "<!caller?: the model gets a correction>"
    ),
    "verdict": (
        "Verdict: <status?keep what was found><switches?switch to another source>"
        "<again?ask the preferred source in other words> (<!unparsed?{judged_by}>"
        "<unparsed?by the setting on_doubt, because the model's reply could not be read>)<analysis?. {analysis}>"
    ),
    "without_model": "{text}",
    "written again": "Written again: {text}",
}
# A part of a sentence that depends on a field. Matches: "<forced?Forced answer>", "<!forced?Answer>".
# Does not match: "{text}".
_SECTION = re.compile(r"<(?P<without>!?)(?P<field>\w+)\?(?P<words>[^>]*)>")
# A query that was not sent is cut to this many characters, because it may be a whole conversation.
_SHOWN_CHARACTERS = 200
# The words for who or what has judged the documents, by the field `judged_by`.
_JUDGED_BY = {
    "model": "by the model",
    "classifier": "by the classifier",
    "words": "by the words of the question",
    "first_step": "the first retrieval is not judged",
    "nothing_found": "nothing was found",
    "nothing_new": "all was shown before",
    "sufficient": "what was found suffices",
    "insufficient": "what was found does not suffice",
    "no_other_source": "no other source may be searched",
}
# Those of them that judge by the passages. All others are rules.
_JUDGES = ("model", "classifier", "words")
# How an observation refers to its documents if the event before it has listed the same documents, by the kind of that
# event.
_SAME = {"found": "all of them", "selection": "what was selected"}
# The words for how far a document supports an answer, by the field `support`.
_SUPPORT = {"fully": "fully supported", "partially": "partially supported"}
# The words for the classes of questions, by the field `chosen`.
_CLASSES = {"no_retrieval": "no retrieval", "single_step": "one retrieval", "multi_step": "several retrievals"}
# The words for the outcome of a review, by the field `status`.
_REVIEWS = {
    None: "no reply could be read, so the answer is accepted",
    True: "the answer stands",
    False: "the answer is doubted",
}
# The words for how an answer of the reader is shown, by the field `certainty`.
_GIVEN = {"stated": "given as the answer", "probably": "only the sentence around it is given"}
# The words for the outcome of the check of a model's answer, by the field `certainty`.
_CHECKED = {"stated": "stated", "probably": "probably", "not_found": "not in the passages"}
# The fields that a sentence writes as numbers. A missing number is written as 0.
_NUMBERS = ("read", "total", "written", "probability", "lowest", "documents_cut", "documents_shortened")


def trace_text(event: Event) -> str:
    """Write one event of a trace on one line.

    For example, ``trace_text(Event("search", 1, {"source": "web", "query": "tides"}))`` returns
    ``"Search web: tides"``.

    :param event: The event. An event of an unknown kind is written as JSON.
    :returns: The line.
    """
    if event.kind not in SENTENCES:
        data = json.dumps(dict(event.data), default=str, ensure_ascii=False)
        return one_line(f"{event.kind}: {data}")
    # A field that the event does not have counts as None.
    values: dict[str, object] = defaultdict(lambda: None, event.data)
    values.update(_put_into_words(event.kind, event.data))

    def choose(section: re.Match[str]) -> str:
        """Return the words of a section if its field has a value or, for a section with `without`, if it has none."""
        has_value = bool(values[section["field"]])
        is_shown = not has_value if section["without"] else has_value
        return section["words"] if is_shown else ""

    sentence = _SECTION.sub(choose, SENTENCES[_choose_sentence(event.kind, event.data)])
    return one_line(sentence.format_map(values))


def _choose_sentence(kind: str, data: EventData) -> str:
    """Choose the key of an event's sentence in the table. Mostly it is the kind of the event."""
    match kind:
        case "found" if data.get("error") and not data.get("titles"):
            return "found nothing"
        case "rewritten" if not data.get("question"):
            return "not rewritten"
        case "look_ahead" if data.get("again"):
            return "written again"
        case "look_ahead" if not data.get("query"):
            return "kept"
        case "checked" if not data.get("text"):
            return "checked nothing"
        case "read" if not data.get("text"):
            return "read nothing"
    return kind


def _put_into_words(kind: str, data: EventData) -> dict[str, object]:
    """Return the values of an event's sentence that are not simply those of the event."""
    judged_by = str(data.get("judged_by") or "")
    values: dict[str, object] = {number: data.get(number) or 0 for number in _NUMBERS}
    values |= {"judged_by": _JUDGED_BY.get(judged_by, judged_by), "unparsed": not data.get("parsed", True)}
    values["switches"] = not data.get("status") and not data.get("again")
    return values | _word_search(kind, data) | _word_judgement(kind, data) | _word_reply(kind, data)


def _word_search(kind: str, data: EventData) -> dict[str, object]:
    """Return the values of an event about a search or about what it found. Empty for other kinds of events."""
    match kind:
        case "found":
            return _describe_found(data)
        case "held_back":
            return {"query": cut_text(str(data.get("query")), _SHOWN_CHARACTERS, "...")}
        case "closed":
            return {"sources": ", ".join(data.get("sources") or ())}
        case "selection":
            return _describe_selection(data)
        case "observation":
            return {"source": data.get("source") or "no source", "documents": _describe_observed(data)}
        case "steered":
            return {"named": data.get("named") or "no source"}
    return {}


def _word_judgement(kind: str, data: EventData) -> dict[str, object]:
    """Return the values of an event that judges a question or passages. Empty for other kinds of events."""
    judged_by = str(data.get("judged_by") or "")
    match kind:
        case "popularity":
            counts = data.get("counts") or {}
            return {"counts": counts and _join(f"{name} {count}" for name, count in counts.items())}
        case "question_class":
            return {"chosen": _CLASSES.get(str(data.get("chosen")), data.get("chosen"))}
        case "verdict" if judged_by in _JUDGED_BY and judged_by not in _JUDGES:
            # The words for a rule say already why it decides so.
            return {"analysis": ""}
        case "evaluated":
            return {"scores": _join(_write_score(score) for score in data.get("scores") or ())}
        case "strips":
            return _describe_strips(data)
        case "critique":
            return {
                "support": _SUPPORT.get(str(data.get("support")), "no support"),
                "answer": data.get("answer") or "no answer",
                "usefulness": data.get("usefulness") or "unknown",
            }
    return {}


def _word_reply(kind: str, data: EventData) -> dict[str, object]:
    """Return the values of an event about a reply of a model or about an answer. Empty for other kinds of events."""
    certainty = data.get("certainty")
    match kind:
        case "unreadable":
            return {"again": data.get("caller") and data.get("again")}
        case "look_ahead":
            masked = ", ".join(map(str, data.get("masked") or ()))
            return {"token": repr(data.get("token")), "masked": masked or "nothing"}
        case "checked":
            # If the answer has a probability, it stands in a passage, so it is only doubtful.
            is_doubtful = certainty == "not_found" and data.get("probability")
            return {"certainty": "doubtful" if is_doubtful else _CHECKED.get(str(certainty), "not checked")}
        case "read":
            return {"given": _GIVEN.get(str(certainty), "not given")}
        case "refined":
            return {"unused": not data.get("used", True)}
        case "review":
            status = data.get("status")
            explanation = str(data.get("explanation") or "").rstrip(". ")
            return {"status": _REVIEWS[None if status is None else bool(status)], "explanation": explanation}
    return {}


def _describe_found(data: EventData) -> dict[str, object]:
    """Describe what a search found, how long it took and how often it failed before."""
    seconds = data.get("seconds") or 0.0
    errors = [attempt["error"] for attempt in data.get("attempts") or ()]
    failures = Counter(error for error in errors if error)
    return {
        "number": len(data.get("titles") or ()),
        "took": f"{seconds * 1000:.1f} ms" if seconds < 1 else f"{seconds:.1f} s",
        "titles": _join_documents(data.get("titles"), data.get("places")),
        "before": " · ".join(f"{times} x {error}" for error, times in failures.items()),
    }


def _describe_observed(data: EventData) -> str:
    """Name the documents of an observation. The documents that the event before it has listed are not repeated."""
    same_as = str(data.get("same_as"))
    if same_as in _SAME:
        return _SAME[same_as]
    left_out = data.get("left_out")
    if left_out:
        return f"all of them but {_join(left_out)}"
    return _join_documents(data.get("documents"), data.get("places"))


def _describe_strips(data: EventData) -> dict[str, object]:
    """Describe the strips (a few sentences each) of documents: how many there are and were kept, and their scores."""
    strips = [strip for strip in data.get("strips") or () if isinstance(strip, Mapping)]
    return {
        "number": len(strips),
        "kept": sum(bool(strip.get("kept")) for strip in strips),
        "scores": _join(_write_strip(strip) for strip in strips),
    }


def _describe_selection(data: EventData) -> dict[str, object]:
    """Describe the documents that were selected, and how many pairs of documents were classified for it."""
    pairs = data.get("pairs")
    if not isinstance(pairs, Sequence):
        pairs = []
    readable_pairs = [pair for pair in pairs if isinstance(pair, Mapping)]
    return {
        "pairs": len(pairs),
        "positive": sum(bool(pair.get("positive")) for pair in readable_pairs),
        "documents": _join_documents(data.get("documents"), data.get("places")),
    }


def _write_score(scored: TitleScore) -> str:
    """Write a title and its score.

    For example, ``_write_score({"title": "Tides", "score": 0.5})`` returns ``"Tides 0.50"``.
    """
    score = scored.get("score")
    written = "none" if score is None else f"{score:.2f}"
    return f"{scored.get('title')} {written}"


def _write_strip(strip: TitleScore) -> str:
    """Write the title and the score of a strip (a few sentences of a document), and whether the strip was dropped."""
    dropped = "" if strip.get("kept") else " (dropped)"
    return f"{_write_score(strip)}{dropped}"


def _join(titles: Iterable[object]) -> str:
    """Join titles with dots: "a · b". Without a title, return "nothing"."""
    return " · ".join(map(str, titles)) or "nothing"


def _join_documents(titles: Sequence[str] | None, places: Sequence[str] | None) -> str:
    """List the titles of documents. Documents with the same title are grouped, and their places are listed.

    For example, ``_join_documents(["A", "B", "A"], ["p. 1", "", "p. 2"])`` returns ``"A (p. 1; p. 2) · B"``.
    """
    groups: dict[str, list[str]] = {}
    for title, place in zip_longest(titles or (), places or (), fillvalue=""):
        groups.setdefault(str(title), []).append(str(place))
    return _join(_write_group(title, places) for title, places in groups.items())


def _write_group(title: str, places: Sequence[str]) -> str:
    """Write the title of some documents, with their places if there are several documents."""
    if len(places) == 1:
        return title
    # If a place is not known, only the number of passages can be written.
    passages = "; ".join(places) if all(places) else f"{len(places)} passages"
    return f"{title} ({passages})"
