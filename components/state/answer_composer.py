"""The component that composes the result of a run from its state.

The result is one dictionary for the command line, HTTP and Python. docs/pipelines.md lists its keys. The component also
decides whether the answer is given at all, or only shown as a guess.
"""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from haystack import Document, component

from prefrag.components.block import check_choice
from prefrag.components.both_ways import as_async
from prefrag.components.state.attempt import Attempt
from prefrag.components.state.citations import citation_marks, cite_plainly, known_marks, read_citations, without_codes
from prefrag.components.state.events import EventData
from prefrag.components.state.evidence import find_evidence, find_sentence, find_whole
from prefrag.components.state.places import PAGES, Place, heading_of, place_of, position_of, standing_of
from prefrag.components.state.result import (
    Citation,
    Counts,
    FoundDocument,
    HeldQuery,
    Quotation,
    Result,
    SentToModels,
    SourceCounts,
    Span,
    StepEntry,
    StepVerdict,
    UsageCounts,
)
from prefrag.components.state.state import Action, Evidence, Identity, Label, Search, State, Step, identity
from prefrag.components.state.usage import ModelTraffic, sum_traffic
from prefrag.components.text.addresses import safe_url
from prefrag.components.text.controls import strip_all_controls
from prefrag.components.text.question_topic import fits_nothing
from prefrag.components.text.term_statistics import passage_text
from prefrag.tracing import sent_to_tracing

WhenUnsure = Literal["answer", "say_so"]

# The user gets this text if the message is no question, such as a greeting, and fits no document.
ASK_A_QUESTION = (
    "Nothing that was found fits this: ask a question about your documents, such as when something opens, what it "
    "costs, or who wrote it."
)
# The keys of the result whose control characters are not removed. In texts of passages, the positions of sentences
# would shift. The trace contains no control characters.
_AS_IS = ("documents", "citations", "evidence", "trace")


def compose(
    state: State, preferred: str = "local", error: str | None = None, when_unsure: WhenUnsure = "answer"
) -> Result:
    """Compose the result of a run, in the same form for the command line, HTTP and Python.

    :param state: The final state of the run.
    :param preferred: The source that is counted as local. All other sources are counted as web.
    :param error: Why the run broke off. None if it ended normally.
    :param when_unsure: What the user gets if the answer is doubtful, see :class:`AnswerComposer`.
    :returns: The result, which is JSON-serialisable. docs/pipelines.md lists its keys.
    """
    marks = citation_marks(state)
    marks_of_codes = known_marks(state)
    last = _final_step(state, marks_of_codes, error)
    answer, marks_cited = read_citations(last.answer, marks_of_codes)
    question_back = _question_back(state, last, error)
    given_answer = _given_answer(last, answer, question_back, error, when_unsure)

    reader_evidence = _reader_evidence(state)
    shown_evidence = _shown_evidence(state, last, reader_evidence, given_answer.answered)
    documents = _documents(state, marks, answer, marks_cited, reader_evidence)
    cited = [document for document in documents if document["mark"] in marks_cited]

    searches = [search for search in state.searches if not search.skipped]
    attempts = _attempts(state, searches, error)
    traffic = list(state.usage.models)
    for attempt in attempts:
        traffic += attempt.models

    label = _label(last)
    classes = _events(state, "question_class")
    result: Result = {
        "question": state.question,
        "asked": state.typed or state.question,
        "answer": given_answer.text,
        "answer_with_citations": cite_plainly(last.answer, marks_of_codes) if given_answer.answered else "",
        "answered": given_answer.answered,
        "probability": None if last.probability is None else round(last.probability, 3),
        "citations": [_citation(document) for document in cited] if given_answer.answered else [],
        "uncited": given_answer.answered and not cited,
        "certainty": "not_found" if given_answer.not_found else last.certainty,
        "not_found": given_answer.not_found,
        "guess": given_answer.guess,
        "evidence": [_evidence(evidence, marks, given_answer.text) for evidence in shown_evidence],
        "answered_by": _answered_by(last) if answer and not question_back else None,
        "reply_format": state.reply_format or None,
        "format_reason": state.format_reason or None,
        "unsupported": list(last.unsupported) if given_answer.answered else [],
        "label": label.value if label else None,
        "explanation": without_codes(last.explanation, marks_of_codes),
        "suggestions": without_codes(last.suggestions, marks_of_codes),
        "forced": last.forced,
        "documents": documents,
        "steps": [_step(number, step, marks_of_codes) for number, step in enumerate(state.steps, start=1)],
        "counts": _counts(state, searches, preferred),
        "usage": _usage(state),
        "errors": _errors(state, last, searches, answer, error, question_back),
        "asked_back": question_back,
        "question_class": dict(classes[0]) if classes else None,
        "without_model": [str(data["text"]) for data in _events(state, "without_model")],
        "queries_sent_out": [attempt.to_dict() for attempt in attempts if attempt.sent_out],
        "queries_held_back": [_held_back(data) for data in _events(state, "held_back")],
        "sent_to_models": [_sent(host_traffic) for host_traffic in sum_traffic(traffic)],
        "sent_to_tracing": sent_to_tracing(),
        "trace": [event.to_dict() for event in state.events],
    }
    # A model may write control characters, which a terminal would obey.
    untrusted = {name: value for name, value in result.items() if name not in _AS_IS}
    cleaned: Result = strip_all_controls(untrusted)
    return {**result, **cleaned}


@dataclass(frozen=True)
class _GivenAnswer:
    """What the user gets of an answer.

    :param text: The answer that the user gets; empty if the user gets none.
    :param guess: The answer if the user does not get it as an answer, but separately as a guess; None otherwise.
    :param not_found: Whether the user is told that no answer was found.
    """

    text: str
    guess: str | None
    not_found: bool

    @property
    def answered(self) -> bool:
        """Whether the user gets the answer."""
        return bool(self.text)


def _given_answer(
    last: Step, answer: str, question_back: str | None, error: str | None, when_unsure: WhenUnsure
) -> _GivenAnswer:
    """Decide whether the user gets the answer.

    :param last: The final step.
    :param answer: Its answer without citations.
    :param question_back: What the user is asked instead; None if nothing is asked.
    :param error: Why the run broke off; None if it ended normally.
    :param when_unsure: What the user gets if the answer is doubtful, see :class:`AnswerComposer`.
    :returns: What the user gets.
    """
    is_doubtful = last.forced or last.label is Label.INCORRECT
    is_kept_back = is_doubtful and not error and when_unsure == "say_so"
    not_found = last.certainty == "not_found" or question_back is not None or is_kept_back
    if not_found or last.withheld:
        return _GivenAnswer("", answer or None, not_found)
    return _GivenAnswer(answer, None, not_found)


def _label(last: Step) -> Label | None:
    """Return the label of the final step. None if a model calls its answer correct, but no passage supports it."""
    is_unsupported = bool(last.certainty) and not last.evidence
    if last.label is Label.CORRECT and is_unsupported:
        return None
    return last.label


def _reader_evidence(state: State) -> tuple[Evidence, ...]:
    """Return the sentence in which the extractive reader found its likeliest answer. Empty if it found none."""
    steps_with_evidence = [step for step in state.steps if step.evidence]
    return steps_with_evidence[-1].evidence[:1] if steps_with_evidence else ()


def _documents(
    state: State,
    marks: Mapping[Identity, str],
    answer: str,
    marks_cited: Sequence[str],
    reader_evidence: Sequence[Evidence],
) -> list[FoundDocument]:
    """Return the entries for all documents that were observed.

    :param state: The final state.
    :param marks: The mark of each document.
    :param answer: The answer without citations.
    :param marks_cited: The marks of the documents that the answer cites.
    :param reader_evidence: The sentence in which the extractive reader found its likeliest answer.
    """
    # For each document, one sentence is shown: the one nearest to this text or, without a text, to the query.
    text_of_mark: dict[str | None, str] = dict.fromkeys(marks_cited, answer)
    for evidence in reader_evidence:
        text_of_mark[marks.get(identity(evidence.document))] = evidence.sentence

    documents = []
    for document in state.observed:
        mark = marks[identity(document)]
        sentence = _sentence(state, document, text_of_mark.get(mark, ""))
        documents.append(_document(document, mark, sentence, answer if mark in text_of_mark else ""))
    return documents


def _attempts(state: State, searches: Sequence[Search], error: str | None) -> list[Attempt]:
    """List the attempts to search of a run."""
    if error:
        # If the run broke off, its steps lack the searches that had not ended. The list of attempts has these, too.
        return list(state.attempts)
    return [attempt for search in searches for attempt in search.attempts]


def _errors(
    state: State, last: Step, searches: Sequence[Search], answer: str, error: str | None, question_back: str | None
) -> list[str]:
    """List what went wrong in the run, as messages for the user. ``error`` is the error that broke the run off."""
    errors = [_describe_failure(search) for search in searches if search.error]
    lacks_answer = not (answer or last.withheld or question_back)
    if error:
        errors.append(error)
    elif lacks_answer:
        errors.append("No answer could be read from the model's replies.")
    errors += [str(data["message"]) for data in _events(state, "model_failed")]
    errors += _cut_off(state)
    if not answer:
        # The message is the same for each reply, so it is given once.
        first_filed = _events(state, "filed_as_reasoning")[:1]
        errors += [str(data["message"]) for data in first_filed]
    return errors


def _usage(state: State) -> UsageCounts:
    """Count the calls to models, their tokens, and the seconds of the run."""
    seconds = 0.0
    if state.started:
        seconds = round(time.perf_counter() - state.started, 3)
    return {
        "llm_calls": sum(state.usage.llm_calls.values()),
        "calls": dict(state.usage.llm_calls),
        "prompt_tokens": state.usage.prompt_tokens,
        "completion_tokens": state.usage.completion_tokens,
        "cached_tokens": state.usage.cached_tokens,
        "seconds": seconds,
    }


def _events(state: State, kind: str) -> list[EventData]:
    """Return the data of the events of a kind, in order."""
    return [event.data for event in state.events if event.kind == kind]


def _final_step(state: State, marks_of_codes: Mapping[str, str], error: str | None) -> Step:
    """Return the step whose answer is the answer of the run.

    If the indexes ask for a higher probability than the answer has, its certainty is lowered to "probably".
    """
    step = _last_worded_step(state, marks_of_codes, error)
    least_probabilities = dict(state.settings.stated_from)
    least = least_probabilities.get("model" if step.reply else "reader", 0.0)
    is_too_unlikely = step.probability is not None and step.probability < least
    if step.certainty == "stated" and is_too_unlikely:
        return replace(step, certainty="probably")
    return step


def _last_worded_step(state: State, marks_of_codes: Mapping[str, str], error: str | None) -> Step:
    """Return the newest step whose answer has words, not only citations.

    If there is none, if the run broke off, or if the last answer is withheld, return the last step.
    """
    if not state.steps:
        return Step(Action.UNREADABLE)

    last = state.steps[-1]
    if error or last.withheld:
        return last

    for step in reversed(state.steps):
        answer, _ = read_citations(step.answer, marks_of_codes)
        if answer and step is last:
            return step
        if answer:
            # The run went on after an earlier answer, so that answer was not accepted. It counts as forced.
            return replace(step, forced=True)
    return last


def _question_back(state: State, last: Step, error: str | None) -> str | None:
    """Return what the user is asked instead of getting an answer. None if nothing is asked."""
    if not error and _is_no_question(state, last):
        return ASK_A_QUESTION
    questions = _events(state, "asked_back")
    if not questions:
        return None
    first_question = questions[0]
    return str(first_question["text"])


def _is_no_question(state: State, last: Step) -> bool:
    """Check whether the message, such as a greeting, was no question and fits no document that was found."""
    # With a conversation, attached texts or filters, a message that fits no document may still be a question. Prompts
    # other than `product` are for measurements, in which every message is a question.
    has_context = bool(state.history or state.attached or state.settings.filters)
    if has_context or state.settings.prompts != "product" or last.certainty != "not_found":
        return False
    return fits_nothing(state.question, map(passage_text, state.observed))


def _describe_failure(search: Search) -> str:
    """Write why a source failed. If the search has a provider, only a part of the source failed, such as its ranker."""
    source = search.source if search.provider else f"{search.source} could not be searched"
    return f"{source}: {search.error}"


def _shown_evidence(state: State, last: Step, reader_evidence: tuple[Evidence, ...], answered: bool) -> list[Evidence]:
    """Return the sentences that support the answer or, without an answer, the sentences nearest to the question."""
    if answered:
        if not last.certainty:
            # The answer was not checked, so it has only citations.
            return []
        return list(last.evidence if last.reply else reader_evidence)

    nearest = find_evidence(state)
    if last.certainty != "probably":
        return nearest
    # The probable answer is not given, but its sentence is shown first.
    others = [evidence for evidence in nearest if evidence.sentence != reader_evidence[0].sentence]
    return [*reader_evidence, *others]


def _answered_by(step: Step) -> Literal["reader", "model"]:
    """Return what wrote the answer. A step of the extractive reader has a certainty, but no reply."""
    is_of_reader = step.certainty and not step.reply
    return "reader" if is_of_reader else "model"


def _citation(document: FoundDocument) -> Citation:
    """Return the part of a document's entry that the list of citations has."""
    return {
        "mark": document["mark"],
        "id": document["id"],
        "title": document["title"],
        "source": document["source"],
    }


def _held_back(data: EventData) -> HeldQuery:
    """Return the entry for a query that was not sent."""
    return {"source": data["source"], "query": data["query"], "reason": data["reason"]}


def _sent(traffic: ModelTraffic) -> SentToModels:
    """Return the entry for what the models on one host got."""
    return {
        "host": traffic.host,
        "remote": traffic.remote,
        "role": traffic.role,
        "calls": traffic.calls,
        "prompt_tokens": traffic.prompt_tokens,
        "completion_tokens": traffic.completion_tokens,
    }


def _cut_off(state: State) -> list[str]:
    """Report that replies were cut off, as a list of one message or none.

    A single such reply is reported only if it was the last reply of the run.
    """
    cut_steps = [step for step in state.steps if step.cut_at is not None]
    if not cut_steps:
        return []
    if len(cut_steps) == 1 and cut_steps[0] is not state.steps[-1]:
        return []

    # The limit at which a reply was cut is 0 if it is not known.
    known_limits = [step.cut_at for step in cut_steps if step.cut_at]
    tokens = f" at {known_limits[0]} tokens" if known_limits else ""
    return [
        f"{len(cut_steps)} of {len(state.steps)} replies of the model were cut off{tokens}: raise "
        "PREFRAG_LLM_MAX_TOKENS (a model that thinks needs 4000 or more, and a higher PREFRAG_LLM_CONTEXT), or set "
        "PREFRAG_LLM_THINKING=off."
    ]


# The keys of a document's entry for its file and its date. Each has the metadata field from which the value is read.
# Haystack's converters and splitter write these fields.
_FileKey = Literal["file", "date", "modified", "attachment", "mail", "date_in"]
_FILE: dict[_FileKey, str] = {
    "file": "file_path",
    "date": "date",
    "modified": "modified",
    "attachment": "attachment",
    "mail": "mail",
    "date_in": "date_in",
}


def _document(document: Document, mark: str, sentence: Span | None, answer: str) -> FoundDocument:
    """Return the entry for a document.

    :param document: The document.
    :param mark: The mark of the document.
    :param sentence: The begin and end of the sentence to show, in characters. None if there is none.
    :param answer: The answer. Empty if the document is not cited.
    """
    meta = document.meta
    at = sentence["start"] if sentence else None
    record: FoundDocument = {
        "mark": mark,
        "id": document.id,
        "title": str(meta.get("title") or ""),
        "content": document.content or "",
        "source": meta.get("source") or "",
        "url": safe_url(str(meta.get("url") or "")),
        # A user's own retriever may score with numbers of numpy, which are not JSON.
        "score": None if document.score is None else float(document.score),
        "step": meta.get("step"),
        "heading": heading_of(meta, at),
        "position": position_of(meta),
    }
    standing = standing_of(meta)
    if standing:
        record["standing"] = standing
    for name, key in _FILE.items():
        value = meta.get(key)
        if isinstance(value, str | int):
            record[name] = value
    place = place_of(document, at)
    if sentence:
        shown = (document.content or "")[sentence["start"] : sentence["end"]]
        place = _place_with_page(document, sentence["start"], shown, answer)
    return {**record, **place, "sentence": sentence}


def _place_with_page(document: Document, at: int, sentence: str, answer: str) -> Place:
    """Return the page and the line of a sentence.

    A sentence may begin on one page and end on the next. Its page is that on which the answer stands in it.

    :param document: The document.
    :param at: The position of the sentence in the document, in characters.
    :param sentence: The sentence.
    :param answer: The answer. If it is empty or no part of the sentence, the page is that of the beginning.
    """
    place = place_of(document, at)
    answer = answer.rstrip(". ")
    answer_in_sentence = find_whole(answer, sentence) if answer else None
    if answer_in_sentence and "page" in place:
        place["page"] = place_of(document, at + answer_in_sentence.start())["page"]
    return place


def _sentence(state: State, document: Document, answer: str) -> Span | None:
    """Find the sentence of a document that is nearest to the answer.

    If the document is not cited, ``answer`` is empty. Then find the sentence nearest to the query that found the
    document.
    """
    # A user's own component may have written another value than the number of a step.
    step_number = document.meta.get("step")
    query = ""
    if type(step_number) is int and 0 < step_number <= len(state.steps):
        query = state.steps[step_number - 1].query
    span = find_sentence(document.content or "", query=query or state.question, question=state.question, answer=answer)
    if span is None:
        return None
    start, end = span
    return {"start": start, "end": end}


def _evidence(evidence: Evidence, marks: Mapping[Identity, str], answer: str) -> Quotation:
    """Return the entry for a sentence, with its place in the file, and with the place of the answer in the sentence."""
    document = evidence.document
    answer_in_sentence = find_whole(answer.rstrip(". "), evidence.sentence)
    at = (document.content or "").find(evidence.sentence)
    place_in_file = _place_with_page(document, max(at, 0), evidence.sentence, answer)
    if at < 0 and document.meta.get(PAGES):
        # The sentence is not copied as it is, for example because it joins several rows. So its page is not known.
        place_in_file.pop("page", None)
    answer_span: Span | None = None
    if answer_in_sentence is not None:
        answer_span = {"start": answer_in_sentence.start(), "end": answer_in_sentence.end()}
    return {
        "mark": marks[identity(document)],
        "id": document.id,
        "title": str(document.meta.get("title") or ""),
        "source": document.meta.get("source") or "",
        "heading": heading_of(document.meta, at),
        **place_in_file,
        "sentence": evidence.sentence,
        "answer": answer_span,
        "query": evidence.query,
    }


def _step(number: int, step: Step, marks_of_codes: Mapping[str, str]) -> StepEntry:
    """Return the entry for a step. ``number`` is counted from 1."""
    verdict: StepVerdict | None = None
    if step.verdict is not None:
        verdict = {
            "status": step.verdict.status,
            "judged_by": step.verdict.judged_by,
            "analysis": step.verdict.analysis,
            "score": step.verdict.score,
            "parsed": step.verdict.parsed,
        }
    return {
        "step": number,
        "thought": without_codes(step.thought, marks_of_codes),
        "action": step.action.value,
        "query": step.query,
        "searched": [search.source for search in step.searches if not search.skipped],
        "source": step.source,
        "verdict": verdict,
        "documents": [document.id for document in step.documents],
        "answer": "" if step.withheld else cite_plainly(step.answer, marks_of_codes),
        "label": step.label.value if step.label else None,
        "forced": step.forced,
    }


def _counts(state: State, searches: Sequence[Search], preferred: str) -> Counts:
    """Count the retrievals, in total and by source (appendix A.6 of PrefRAG), and the look-ups of all retrievals.

    A retrieval counts as used if its documents were kept. ``preferred`` is the source that counts as local.
    """
    searches_by_source = Counter(search.source for search in searches)
    total = {source: searches_by_source[source] for source in state.settings.sources}
    used = dict.fromkeys(total, 0)
    for step in state.steps:
        # The documents of a step can come from several sources, as in "local+web".
        for source in (step.source or "").split("+"):
            if source:
                used[source] = used.get(source, 0) + 1

    local = total.get(preferred, 0)
    by_source: dict[str, SourceCounts] = {source: {"total": total[source], "used": used[source]} for source in total}
    return {
        "total_local": local,
        "total_web": sum(total.values()) - local,
        "total": sum(total.values()),
        "used_local": used.get(preferred, 0),
        "used": sum(used.values()),
        "lookups": sum(search.lookups for search in searches),
        "sources": by_source,
    }


# A caller can set this to a composer and a list. The composer then appends its result to the list, instead of returning
# it. Haystack copies each value in the outputs of components, which would take longer than composing the result.
awaited: ContextVar[tuple[object, list[Result]] | None] = ContextVar("awaited", default=None)


@component
class AnswerComposer:
    """Compose the result of a run from its final state."""

    def __init__(self, local_source: str = "local", when_unsure: WhenUnsure = "answer"):
        """Set up the component.

        :param local_source: The source that ``total_local`` and ``used_local`` count. All other sources count as web.
        :param when_unsure: What the user gets if the answer is doubtful: if it was forced, or if its last label is
            INCORRECT. ``answer`` still gives the answer. ``say_so`` gives no answer. The user then gets the sentences
            that are nearest to the question and, separately, the answer as a guess.
        :raises ValueError: If ``when_unsure`` is neither ``answer`` nor ``say_so``.
        """
        check_choice(get_args(WhenUnsure), when_unsure=when_unsure)
        self.local_source = local_source
        self.when_unsure: WhenUnsure = when_unsure

    @component.output_types(result=dict[str, Any])
    def run(self, state: State) -> dict[str, Result]:
        """Compose the result.

        :param state: The final state.
        :returns: ``result``. It is empty if the caller has set ``awaited``, because the caller then gets it there.
        """
        result = compose(state, self.local_source, when_unsure=self.when_unsure)
        waiting = awaited.get()
        if waiting is None:
            return {"result": result}
        composer, results = waiting
        if composer is not self:
            return {"result": result}
        results.append(result)
        return {"result": {}}

    run_async = as_async(run)
