"""Write the trace of a run in words."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from prefrag.components.state.state import Event
from prefrag.components.text.one_line import one_line

# A query that is held back may be a whole conversation.
_SHOWN_CHARACTERS = 200
_JUDGED_BY = {
    "model": "by the model",
    "classifier": "by the classifier",
    "first_step": "the first retrieval is not judged",
    "nothing_found": "nothing was found",
    "no_other_source": "no other source may be searched",
}
# What is observed has just been named.
_SAME = {"found": "all of them", "selection": "what was selected"}
_SUPPORT = {"fully": "fully supported", "partially": "partially supported"}
_CLASSES = {"no_retrieval": "no retrieval", "single_step": "one retrieval", "multi_step": "several retrievals"}


def trace_text(event: Event) -> str:
    """Write one event of a trace in one line.

    :param event: The event.
    :returns: The line, without markup and without a line break.
    """
    write = _WRITERS.get(event.kind)
    if write is None:
        return one_line(f"{event.kind}: {json.dumps(dict(event.data), default=str, ensure_ascii=False)}")
    return one_line(write(event.data))


def _write_rewritten(data: Mapping[str, Any]) -> str:
    if not data.get("question"):
        return "Follow-up: could not be made to stand alone, taken as it is"
    return f"Follow-up understood as: {data['question']}"


def _write_thought(data: Mapping[str, Any]) -> str:
    return f"Thought: {data.get('text')}"


def _write_question_class(data: Mapping[str, Any]) -> str:
    chosen = str(data.get("chosen"))
    return f"Class: {_CLASSES.get(chosen, chosen)} ({data.get('probability') or 0:.0%} likely; {data.get('reason')})"


def _write_search(data: Mapping[str, Any]) -> str:
    return f"Search {data.get('source')}: {data.get('query')}"


def _write_found(data: Mapping[str, Any]) -> str:
    source, titles = data.get("source"), data.get("titles") or ()
    if data.get("error") and not titles:
        return f"Failed {source}: {data['error']}"
    seconds = data.get("seconds") or 0.0
    took = f"{seconds * 1000:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"
    outside = ", the query was sent out" if data.get("sent_out") else ""
    without = f"; part of it failed: {data['error']}" if data.get("error") else ""
    return f"Found in {source} ({len(titles)} in {took}{outside}): {_join_documents(data, 'titles')}{without}"


def _write_held_back(data: Mapping[str, Any]) -> str:
    query = str(data.get("query"))
    shown = query if len(query) <= _SHOWN_CHARACTERS else f"{query[:_SHOWN_CHARACTERS]}..."
    return f"Held back from {data.get('source')}: {shown} ({data.get('reason')})"


def _write_closed(data: Mapping[str, Any]) -> str:
    return f"Not searched: {', '.join(data.get('sources') or ())} ({data.get('reason')})"


def _write_verdict(data: Mapping[str, Any]) -> str:
    kept, judged_by = data.get("status"), str(data.get("judged_by"))
    words = "keep what was found" if kept else "switch to another source"
    why = _JUDGED_BY.get(judged_by, judged_by)
    unread = "" if data.get("parsed", True) else ", whose two replies could not be read: on_doubt decides"
    analysis = data.get("analysis") if judged_by in ("model", "classifier") or judged_by not in _JUDGED_BY else ""
    return f"Verdict: {words} ({why}{unread})" + (f". {analysis}" if analysis else "")


def _write_evaluated(data: Mapping[str, Any]) -> str:
    judged_by = str(data.get("judged_by"))
    unread = "" if data.get("parsed", True) else ", whose two replies could not be read: on_doubt decides"
    how = f"{_JUDGED_BY.get(judged_by, judged_by)}{unread}"
    scores = _join_titles([_write_score(one) for one in data.get("scores") or ()])
    return f"Evaluated {data.get('source')}: {data.get('action')} ({how}). {data.get('reason')} Scores: {scores}"


def _write_strips(data: Mapping[str, Any]) -> str:
    strips = [one for one in data.get("strips") or () if isinstance(one, Mapping)]
    kept = sum(bool(one.get("kept")) for one in strips)
    judged_by = str(data.get("judged_by") or "")
    how = f" ({_JUDGED_BY.get(judged_by, judged_by)})" if judged_by else ""
    unread = "" if data.get("parsed", True) else ", because their scores could not be read"
    shown = _join_titles([_write_score(one) + ("" if one.get("kept") else " (dropped)") for one in strips])
    return f"Refined {data.get('source')}: {kept} of {len(strips)} strips kept{how}{unread}. Scores: {shown}"


def _write_score(scored: Mapping[str, Any]) -> str:
    score = scored.get("score")
    return f"{scored.get('title')} {'none' if score is None else f'{score:.2f}'}"


def _write_selection(data: Mapping[str, Any]) -> str:
    pairs = data.get("pairs")
    classified = ""
    if isinstance(pairs, Sequence) and pairs:
        positive = sum(bool(pair.get("positive")) for pair in pairs if isinstance(pair, Mapping))
        classified = f" ({len(pairs)} pairs classified, {positive} positive)"
    return f"Selected by {data.get('method')}{classified}: {_join_documents(data, 'documents')}"


def _write_observation(data: Mapping[str, Any]) -> str:
    if data.get("same_as") in _SAME:
        documents = _SAME[data["same_as"]]
    elif left_out := data.get("left_out"):
        documents = f"all of them but {_join_titles(left_out)}"
    else:
        documents = _join_documents(data, "documents")
    return f"Observed from {data.get('source') or 'no source'}: {documents}"


def _write_unknown_action(data: Mapping[str, Any]) -> str:
    return f"Unknown action: '{data.get('tool')}', the model gets a correction"


def _write_unreadable(data: Mapping[str, Any]) -> str:
    if data.get("caller"):
        return f"Unreadable reply of the {data['caller']}" + (", it is called once more" if data.get("again") else "")
    return "Unreadable reply: the model gets a correction"


def _write_cut_off(data: Mapping[str, Any]) -> str:
    at = f" at {data['limit']} tokens" if data.get("limit") else ""
    return f"Reply of the {data.get('caller')} cut off{at}: {data.get('setting')} sets how long it may be"


def _write_calls_dropped(data: Mapping[str, Any]) -> str:
    return f"Of several tool calls in one reply only the first is used, {data.get('number')} dropped"


def _write_no_further_search(data: Mapping[str, Any]) -> str:
    return f"No further search: the answer is due ({data.get('replies')} replies)"


def _write_exhausted(data: Mapping[str, Any]) -> str:
    return f"Steps used up: the answer is due ({data.get('replies')} replies)"


def _write_answer(data: Mapping[str, Any]) -> str:
    label = f" [{data['label']}]" if data.get("label") else ""
    return f"{'Forced answer' if data.get('forced') else 'Answer'}: {data.get('text')}{label}"


def _write_look_ahead(data: Mapping[str, Any]) -> str:
    text, lowest = data.get("text"), data.get("lowest")
    if data.get("again"):
        return f"Written again: {text}"
    doubt = f"{data.get('token')!r} at {lowest or 0:.0%}"
    if data.get("query"):
        masked = ", ".join(map(str, data.get("masked") or ())) or "nothing"
        return f"Looked ahead, unsure of {doubt}: {text} (masked: {masked})"
    return f"Kept: {text} (least sure of {doubt})"


def _write_read(data: Mapping[str, Any]) -> str:
    if not data.get("text"):
        return "Read: no answer stands in the passages"
    given = "" if data.get("given") else f", an answer is given from {data.get('threshold') or 0:.0%}"
    return f"Read: {data['text']} ({data.get('probability') or 0:.0%} likely{given})"


def _write_without_model(data: Mapping[str, Any]) -> str:
    return str(data.get("text"))


def _write_reflection(data: Mapping[str, Any]) -> str:
    label = f"the answer is labelled {data['label']}" if data.get("label") else "the answer has no label"
    further = ", so every source is searched once more" if data.get("supplement") else ""
    explanation = f". {data['explanation']}" if data.get("explanation") else ""
    return f"Reflection: {label}{further}{explanation}"


def _write_instructions_cut(data: Mapping[str, Any]) -> str:
    return f"The instructions have {data.get('characters'):,} characters: the first {data.get('kept'):,} are used"


def _write_cut(data: Mapping[str, Any]) -> str:
    left_out, shortened = data.get("documents_cut") or 0, data.get("documents_shortened") or 0
    return (
        f"Cut to fit the {data.get('caller')}'s window of {data.get('context_window')} tokens: "
        f"{left_out} passages left out, {shortened} shortened"
    )


def _write_error(data: Mapping[str, Any]) -> str:
    return f"Error of the {data.get('caller')}: {data.get('message')}"


def _join_titles(titles: Sequence[Any]) -> str:
    return " · ".join(str(title) for title in titles) or "nothing"


def _join_documents(data: Mapping[str, Any], field: str) -> str:
    """Name documents, those of one title together, with what tells them apart."""
    groups: dict[str, list[str]] = {}
    for title, place in zip_longest(data.get(field) or (), data.get("places") or (), fillvalue=""):
        groups.setdefault(str(title), []).append(str(place))
    return _join_titles([_write_group(title, places) for title, places in groups.items()])


def _write_group(title: str, places: Sequence[str]) -> str:
    if len(places) == 1:
        return title
    return f"{title} ({'; '.join(places) if all(places) else f'{len(places)} passages'})"


def _write_refined(data: Mapping[str, Any]) -> str:
    used = "" if data.get("used", True) else ", not used because it is no shorter"
    tokens = f"{data.get('tokens_before')} to {data.get('tokens_after')} tokens"
    return f"Summarised the observation of step {data.get('of_step')}: {tokens}{used}"


def _write_steered(data: Mapping[str, Any]) -> str:
    named = data.get("named") or "no source"
    return f"Steered to {data.get('source')}, where the model named {named} ({data.get('reason')})"


def _write_review(data: Mapping[str, Any]) -> str:
    status = data.get("status")
    words = (
        "could not be read twice, the answer is accepted"
        if status is None
        else "the answer stands"
        if status
        else "the answer is doubted"
    )
    more = ", the question is searched for once more" if data.get("supplement") else ""
    return f"Review: {words}{more}. {data.get('explanation') or ''}".rstrip(". ") + "."


def _write_retrieval(data: Mapping[str, Any]) -> str:
    words = "the documents are searched" if data.get("status") else "no document is needed"
    unread = "" if data.get("parsed", True) else " (two replies could not be read)"
    explanation = f". {data['explanation']}" if data.get("explanation") else ""
    return f"Retrieve: {words}{unread}{explanation}"


def _write_critique(data: Mapping[str, Any]) -> str:
    parts = [
        "relevant" if data.get("relevant") else "irrelevant",
        _SUPPORT.get(str(data.get("support")), "no support"),
        f"usefulness {data.get('usefulness') or 'unknown'}",
        f"score {data.get('score')}",
    ]
    unread = "" if data.get("parsed", True) else "; not all of it could be read"
    return f"From {data.get('document')}: {data.get('answer') or 'no answer'} ({', '.join(parts)}{unread})"


_WRITERS = {
    "evaluated": _write_evaluated,
    "strips": _write_strips,
    "retrieval": _write_retrieval,
    "critique": _write_critique,
    "selection": _write_selection,
    "refined": _write_refined,
    "steered": _write_steered,
    "review": _write_review,
    "rewritten": _write_rewritten,
    "question_class": _write_question_class,
    "thought": _write_thought,
    "search": _write_search,
    "found": _write_found,
    "held_back": _write_held_back,
    "closed": _write_closed,
    "verdict": _write_verdict,
    "observation": _write_observation,
    "unknown_action": _write_unknown_action,
    "unreadable": _write_unreadable,
    "exhausted": _write_exhausted,
    "cut_off": _write_cut_off,
    "calls_dropped": _write_calls_dropped,
    "no_further_search": _write_no_further_search,
    "answer": _write_answer,
    "read": _write_read,
    "look_ahead": _write_look_ahead,
    "without_model": _write_without_model,
    "reflection": _write_reflection,
    "cut": _write_cut,
    "instructions_cut": _write_instructions_cut,
    "error": _write_error,
}
