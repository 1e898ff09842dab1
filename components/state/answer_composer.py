"""The component that composes the result of a run from its state."""

import time
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import asdict, replace
from typing import Any, Literal, get_args

from haystack import Document, component

from prefrag.components.block import check_choice
from prefrag.components.both_ways import as_async
from prefrag.components.state.citations import citation_marks, cite_plainly, known_marks, read_citations, without_codes
from prefrag.components.state.evidence import find_evidence, find_sentence, find_whole
from prefrag.components.state.places import PAGES, heading_of, place_of, position_of, standing_of
from prefrag.components.state.state import Action, Evidence, Identity, Label, Search, State, Step, identity
from prefrag.components.state.usage import sum_traffic
from prefrag.components.text.addresses import safe_url
from prefrag.components.text.controls import strip_all_controls
from prefrag.components.text.question_topic import fits_nothing
from prefrag.tracing import sent_to_tracing

WhenUnsure = Literal["answer", "say_so"]

ASK_A_QUESTION = (
    "Nothing that was found fits this: ask a question about your documents, such as when something opens, what it "
    "costs, or who wrote it."
)
# The keys of the result whose texts are those of passages, and the trace, whose events hold no control characters.
_AS_IS = ("documents", "citations", "evidence", "trace")


def compose(
    state: State, preferred: str = "local", error: str | None = None, when_unsure: WhenUnsure = "answer"
) -> dict[str, object]:
    """Compose the result of a run, in the same form for the command line, HTTP and Python.

    The result is JSON-serialisable; docs/pipelines.md lists its keys. The source ``preferred`` is counted as local, all
    other sources as web.
    """
    marks = citation_marks(state)
    marks_of_codes = known_marks(state)
    last = state.steps[-1] if state.steps else Step(Action.UNREADABLE)
    answer, marks_cited = read_citations(last.answer, marks_of_codes)
    if not answer and not error and not last.withheld:
        # The last reply has no words: use the newest earlier answer. It counts as forced: it had not been accepted.
        worded = (step for step in reversed(state.steps) if read_citations(step.answer, marks_of_codes)[0])
        last = next((replace(step, forced=True) for step in worded), last)
        answer, marks_cited = read_citations(last.answer, marks_of_codes)
    chosen = dict(state.settings.stated_from).get("model" if last.reply else "reader", 0.0)
    if last.certainty == "stated" and last.probability is not None and last.probability < chosen:
        last = replace(last, certainty="probably")
    searches = [search for search in state.searches if not search.skipped]
    # The state of a run that broke off lacks the searches that had not ended.
    made = state.attempts if error else [attempt for search in searches for attempt in search.attempts]
    asked = [model for attempt in made for model in attempt.models]
    failed = [search for search in searches if search.error]
    errors = [
        f"{search.source}{'' if search.provider else ' could not be searched'}: {search.error}" for search in failed
    ]
    asks = next((str(event.data["text"]) for event in state.events if event.kind == "asked_back"), None)
    if not error and _is_no_question(state, last):
        asks = ASK_A_QUESTION
    if error:
        errors.append(error)
    elif not answer and not last.withheld and not asks:
        errors.append("No answer could be read from the model's replies.")
    errors += [str(event.data["message"]) for event in state.events if event.kind == "model_failed"]
    errors += _cut_off(state)
    if not answer:
        filed = (str(event.data["message"]) for event in state.events if event.kind == "filed_as_reasoning")
        errors += list(filed)[:1]
    # The extractive reader also returns the sentence that contains its answer.
    read = next((step.evidence[:1] for step in reversed(state.steps) if step.evidence), ())
    answers = dict.fromkeys(marks_cited, answer) | {
        marks.get(identity(evidence.document)): evidence.sentence for evidence in read
    }
    documents = [
        _document(document, mark, _sentence(state, document, answers.get(mark, "")))
        for document in state.observed
        for mark in [marks[identity(document)]]
    ]
    cited = [document for document in documents if document["mark"] in marks_cited]
    unsure = not error and (last.forced or last.label is Label.INCORRECT)
    is_doubted = unsure and when_unsure == "say_so"
    not_found = last.certainty == "not_found" or asks is not None or is_doubted
    answered = bool(answer) and not not_found and not last.withheld
    # No label of the model says that an answer is right if no passage carries it.
    label = None if last.label is Label.CORRECT and last.certainty and not last.evidence else last.label
    # The evidence for an answer is the sentence that carries it. An answer that was not checked has only citations.
    carrying = last.evidence if last.reply else read
    shown = list(carrying if last.certainty else ()) if answered else find_evidence(state)
    if last.certainty == "probably" and not answered:
        shown = [*read, *(evidence for evidence in shown if evidence.sentence != read[0].sentence)]
    result = {
        "question": state.question,
        "asked": state.typed or state.question,
        "answer": answer if answered else "",
        "answer_with_citations": cite_plainly(last.answer, marks_of_codes) if answered else "",
        "answered": answered,
        "probability": None if last.probability is None else round(last.probability, 3),
        "citations": [
            {key: document[key] for key in ("mark", "id", "title", "source")} for document in cited if answered
        ],
        "uncited": answered and not cited,
        "certainty": "not_found" if not_found else last.certainty,
        "not_found": not_found,
        "guess": answer if answer and not answered else None,
        "evidence": [_evidence(evidence, marks, answer if answered else "") for evidence in shown],
        "answered_by": None if not answer or asks else "reader" if last.certainty and not last.reply else "model",
        "reply_format": state.reply_format or None,
        "format_reason": state.format_reason or None,
        "unsupported": list(last.unsupported) if answered else [],
        "label": label.value if label else None,
        "explanation": without_codes(last.explanation, marks_of_codes),
        "suggestions": without_codes(last.suggestions, marks_of_codes),
        "forced": last.forced,
        "documents": documents,
        "steps": [_step(number, step, marks_of_codes) for number, step in enumerate(state.steps, start=1)],
        "counts": _counts(state, searches, preferred),
        "usage": {
            "llm_calls": sum(state.usage.llm_calls.values()),
            "calls": dict(state.usage.llm_calls),
            "prompt_tokens": state.usage.prompt_tokens,
            "completion_tokens": state.usage.completion_tokens,
            "cached_tokens": state.usage.cached_tokens,
            "seconds": round(time.perf_counter() - state.started, 3) if state.started else 0.0,
        },
        "errors": errors,
        "asked_back": asks,
        "question_class": next((dict(event.data) for event in state.events if event.kind == "question_class"), None),
        "without_model": [str(event.data["text"]) for event in state.events if event.kind == "without_model"],
        "queries_sent_out": [attempt.to_dict() for attempt in made if attempt.sent_out],
        "queries_held_back": [
            {key: event.data[key] for key in ("source", "query", "reason")}
            for event in state.events
            if event.kind == "held_back"
        ],
        "sent_to_models": [asdict(sent) for sent in sum_traffic([*state.usage.models, *asked])],
        "sent_to_tracing": sent_to_tracing(),
        "trace": [event.to_dict() for event in state.events],
    }
    # What a model writes may hold characters that a terminal obeys. In passages they stay, because places are counted.
    return {name: value if name in _AS_IS else strip_all_controls(value) for name, value in result.items()}


def _is_no_question(state: State, last: Step) -> bool:
    """Check whether the message, such as a greeting, was no question, and nothing that was found fits it."""
    is_open = state.settings.prompts == "product" and not (state.history or state.attached or state.settings.filters)
    texts = (f"{document.meta.get('title') or ''} {document.content or ''}" for document in state.observed)
    return is_open and last.certainty == "not_found" and fits_nothing(state.question, texts)


def _cut_off(state: State) -> list[str]:
    """Report that replies were cut off. A single such reply is reported only if it was the last reply of the run."""
    cut = [step for step in state.steps if step.cut_at is not None]
    if not cut or (len(cut) == 1 and cut[0] is not state.steps[-1]):
        return []
    tokens = next((f" at {step.cut_at} tokens" for step in cut if step.cut_at), "")
    return [
        f"{len(cut)} of {len(state.steps)} replies of the model were cut off{tokens}: raise PREFRAG_LLM_MAX_TOKENS (a "
        "model that thinks needs 4000 or more, and a higher PREFRAG_LLM_CONTEXT), or set PREFRAG_LLM_THINKING=off."
    ]


# The keys of the result for a passage's file and for its date, each with the metadata field from which the value is
# read. Haystack's converters and splitter write these fields.
_FILE = {"file": "file_path"} | {name: name for name in ("date", "modified", "attachment", "mail", "date_in")}


def _document(document: Document, mark: str, sentence: dict[str, int] | None) -> dict[str, object]:
    meta = document.meta
    at = sentence["start"] if sentence else None
    standing = standing_of(meta)
    return {
        "mark": mark,
        "id": document.id,
        "title": str(meta.get("title") or ""),
        "content": document.content or "",
        "source": meta.get("source") or "",
        "url": safe_url(str(meta.get("url") or "")),
        # An own retriever may score with numbers of numpy, which are not JSON.
        "score": None if document.score is None else float(document.score),
        "step": meta.get("step"),
        "heading": heading_of(meta, at),
        "position": position_of(meta),
        **({"standing": standing} if standing else {}),
        **{name: meta[key] for name, key in _FILE.items() if isinstance(meta.get(key), str | int)},
        **place_of(document, at),
        "sentence": sentence,
    }


def _sentence(state: State, document: Document, answer: str) -> dict[str, int] | None:
    step = document.meta.get("step")
    query = state.steps[step - 1].query if type(step) is int and 0 < step <= len(state.steps) else ""
    span = find_sentence(document.content or "", query or state.question, state.question, answer)
    return None if span is None else {"start": span[0], "end": span[1]}


def _evidence(evidence: Evidence, marks: Mapping[Identity, str], answer: str) -> dict[str, object]:
    document = evidence.document
    place = find_whole(answer.rstrip(". "), evidence.sentence)
    at = (document.content or "").find(evidence.sentence)
    place_in_file = place_of(document, max(at, 0))
    if at < 0 and document.meta.get(PAGES):
        # A sentence that does not stand in the passage as it is, such as several rows, may be on any of its pages.
        place_in_file.pop("page", None)
    return {
        "mark": marks[identity(document)],
        "id": document.id,
        "title": str(document.meta.get("title") or ""),
        "source": document.meta.get("source") or "",
        "heading": heading_of(document.meta, at),
        **place_in_file,
        "sentence": evidence.sentence,
        "answer": None if place is None else {"start": place.start(), "end": place.end()},
        "query": evidence.query,
    }


def _step(number: int, step: Step, marks_of_codes: Mapping[str, str]) -> dict[str, object]:
    verdict = step.verdict
    return {
        "step": number,
        "thought": without_codes(step.thought, marks_of_codes),
        "action": step.action.value,
        "query": step.query,
        "searched": [search.source for search in step.searches if not search.skipped],
        "source": step.source,
        "verdict": None
        if verdict is None
        else {
            "status": verdict.status,
            "judged_by": verdict.judged_by,
            "analysis": verdict.analysis,
            "score": verdict.score,
            "parsed": verdict.parsed,
        },
        "documents": [document.id for document in step.documents],
        "answer": "" if step.withheld else cite_plainly(step.answer, marks_of_codes),
        "label": step.label.value if step.label else None,
        "forced": step.forced,
    }


def _counts(state: State, searches: Sequence[Search], preferred: str) -> dict[str, object]:
    """Count the retrievals, in total and by source (appendix A.6 of PrefRAG), and the look-ups of all retrievals."""
    total = {source: sum(search.source == source for search in searches) for source in state.settings.sources}
    used = dict.fromkeys(total, 0)
    for step in state.steps:
        for source in (step.source or "").split("+"):
            if source:
                used[source] = used.get(source, 0) + 1
    local = total.get(preferred, 0)
    return {
        "total_local": local,
        "total_web": sum(total.values()) - local,
        "total": sum(total.values()),
        "used_local": used.get(preferred, 0),
        "used": sum(used.values()),
        "lookups": sum(search.lookups for search in searches),
        "sources": {source: {"total": total[source], "used": used.get(source, 0)} for source in total},
    }


# A caller can set this to a composer and a list: the composer then appends its result to the list. Haystack copies the
# outputs of components leaf by leaf, which would take longer than composing the result.
awaited: ContextVar[tuple[Any, list[dict[str, Any]]] | None] = ContextVar("awaited", default=None)


@component
class AnswerComposer:
    """Compose the result of a run from its final state."""

    def __init__(self, local_source: str = "local", when_unsure: WhenUnsure = "answer"):
        """Set up the component.

        :param local_source: The source that ``total_local`` and ``used_local`` count. All other sources count as web.
        :param when_unsure: What the user gets if the answer was forced or its last label is INCORRECT. ``answer``
            still gives the answer. ``say_so`` gives no answer. The user then gets the sentences that are nearest to the
            question and, separately, the answer as a guess.
        :raises ValueError: If ``when_unsure`` is neither ``answer`` nor ``say_so``.
        """
        check_choice(get_args(WhenUnsure), when_unsure=when_unsure)
        self.local_source = local_source
        self.when_unsure: WhenUnsure = when_unsure

    @component.output_types(result=dict[str, Any])
    def run(self, state: State) -> dict[str, dict[str, Any]]:
        """Compose the result.

        :param state: The final state.
        :returns: ``result``. It is empty if the caller has set ``awaited`` and gets the result there.
        """
        result = compose(state, self.local_source, when_unsure=self.when_unsure)
        waiting = awaited.get()
        if waiting is None or waiting[0] is not self:
            return {"result": result}
        waiting[1].append(result)
        return {"result": {}}

    run_async = as_async(run)
