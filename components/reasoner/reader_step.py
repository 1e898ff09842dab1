"""Take the next step of a run without a language model: answer with the extractive reader, or search for more."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from haystack import Document

from prefrag.components.reader.question_form import asks_for_more, identifies_by_another, kind_asked_for
from prefrag.components.reader.reader import Candidate, Reader
from prefrag.components.reader.span_candidates import span_candidates
from prefrag.components.state.citations import cite_plainly, known_marks, prompt_marks
from prefrag.components.state.evidence import rank_sentences
from prefrag.components.state.state import Action, Certainty, Evidence, State, Step, identity
from prefrag.components.text.question_topic import fits_nothing
from prefrag.components.text.sentences import cut_text, plain_sentences
from prefrag.components.text.term_statistics import passage_text, words

FROM_MEMORY = "This method answers from a language model's memory, but no model is set up."
NEEDS_MODEL = (
    "To summarise, compare, write, or say yes or no, a language model is needed, which whoever runs prefrag can add "
    "(`prefrag model`). Without one, ask for what one sentence states, such as who, when or how much, or for a count, "
    "list or total of the rows of one table."
)
SEVERAL = (
    "This asks for a list or a number of whole documents, which no sentence states: the sentences shown are only "
    "examples. `prefrag documents list` and the page list all documents by name, folder, kind and date."
)
NOT_READ = (
    "Without a language model only questions in English are answered, and only where a passage states the answer."
)


def take_reader_step(
    state: State, candidates: Sequence[Candidate], reader: Reader, tool: str = "", must_answer: bool = False
) -> State:
    """Add a step: answer if an answer is sure or ``must_answer`` is true, else search or, if no query is left, stop."""
    threshold = reader.threshold
    best = candidates[0] if candidates else None
    certainty = _choose_certainty(best, reader)
    # Users are never shown a yes or no, so it does not end their search.
    is_shown = certainty != "not_found" or state.settings.prompts != "product"
    is_sure = best is not None and best.probability >= threshold and is_shown
    if not must_answer and not is_sure:
        query = next_query(state)
        if not query:
            return state.with_step(Step(Action.NONE))
        return state.with_step(Step(Action.SEARCH, tool=tool, query=query, by_code=True))
    if must_answer and not state.observed and not state.searches:
        state = state.with_event("without_model", text=FROM_MEMORY)
    is_answering = must_answer or certainty != "not_found"
    if is_answering and _asks_for_documents(state):
        # Of several documents, a sentence names one: an answer would be a part of the list, given as the whole.
        state, certainty = state.with_event("without_model", text=SEVERAL), "not_found"
    elif must_answer and certainty == "not_found" and state.observed:
        if asks_for_more(state.question) and not fits_nothing(state.question, map(passage_text, state.observed)):
            state = state.with_event("without_model", text=NEEDS_MODEL)
        elif best is None:
            state = state.with_event("without_model", text=NOT_READ)
    step = Step(Action.ANSWER, certainty=certainty, probability=best.probability if best else 0.0)
    if best is not None:
        evidence = tuple(
            Evidence(candidate.document, candidate.sentence, state.question, candidate.probability)
            for candidate in candidates
        )
        step = replace(step, answer=best.text + mark_of(best.document, state), evidence=evidence)
    state = state.with_step(step)
    return state.with_event(
        "read",
        text=cite_plainly(step.answer, known_marks(state)),
        probability=round(step.probability or 0.0, 3),
        threshold=threshold,
        certainty=certainty,
    )


def _choose_certainty(best: Candidate | None, reader: Reader) -> Certainty:
    # Yes and no are shown only as guesses, because even the likelier of the two may have no sentence that supports it.
    if best is None or best.kind in ("yes", "no"):
        return "not_found"
    if best.kind == "span" and best.probability >= reader.threshold:
        return "stated"
    return "probably" if best.probability >= reader.probable else "not_found"


def _asks_for_documents(state: State) -> bool:
    """Check whether a question asks for those of several documents whose titles name their kind, such as contracts."""
    kind = kind_asked_for(state.question)
    titles = {identity(document): str(document.meta.get("title") or "") for document in state.observed}
    return bool(kind) and len({title for title in titles.values() if kind in words(title.lower())}) > 1


def mark_of(document: Document, state: State) -> str:
    """Write the mark that cites a document, after a blank; empty if the run's documents have no marks."""
    mark = prompt_marks(state).get(identity(document))
    return f" [{mark}]" if mark else ""


# A query takes up to 10 names from the two best documents, because one of the names is usually the title of the passage
# that is needed next. More names are not used, because the query may be sent to the web.
_DOCUMENTS = 2
_NAMES = 10
_FEWEST_SEARCHES = 2


def next_query(state: State) -> str | None:
    """Make the query of the next search, or return None if there should be no further search.

    The first query is the question. A later query contains new names from the two best documents of the last search,
    those in the most relevant sentences first, and the words of the question that are in neither document. There is no
    further search if the preferred source accepts only the question itself and has been searched. There is also none in
    the last step of a run, unless the question identifies a thing by another thing, as in "the author of Emma".
    """
    searches = sum(step.action is Action.SEARCH for step in state.steps)
    has_searched_enough = searches >= max(_FEWEST_SEARCHES, state.settings.max_steps - 1)
    if has_searched_enough and not identifies_by_another(state.question):
        return None
    if state.is_done(state.settings.preferred):
        return None
    documents = next((step.documents for step in reversed(state.steps) if step.documents), ())[:_DOCUMENTS]
    names = list(islice(_new_names(state, documents), _NAMES))
    told = {word for document in documents for word in words(passage_text(document))}
    still_open = [word for word in words(state.question) if word not in told]
    query = " ".join([*names, *still_open])
    if names and all(query != search.query for search in state.searches):
        return query
    return _open_query(state)


def _new_names(state: State, documents: Sequence[Document]) -> Iterator[str]:
    asked = " ".join([state.question, *(search.query for search in state.searches)]).casefold()
    seen = {str(document.meta.get("title") or "").casefold() for document in documents}
    for ranked in rank_sentences(state.question, documents, split=plain_sentences):
        for span in span_candidates(0, "", ranked.sentence):
            name = span.text.casefold()
            if span.kind == "name" and name not in seen and name not in asked:
                seen.add(name)
                yield span.text


# The maximum number of characters in a query that begins with a title.
_MAX_CHARACTERS = 1_000


def _open_query(state: State) -> str | None:
    """Write the best query that was not searched yet, without new names; None if there is none.

    Before any passage is found, it is the question. Later, it is the title of a found passage, followed by the words of
    the question that no passage contains.
    """
    searched = {search.query for search in state.searches}
    titles = dict.fromkeys(str(document.meta.get("title") or "") for document in state.retrieved)
    seen = {word for document in state.observed for word in words(passage_text(document))}
    still_open = " ".join(word for word in words(state.question) if word not in seen) or state.question
    wanted = [state.question]
    if state.retrieved:
        wanted = [f"{title} {still_open}" for title in titles if title]
    queries = (cut_text(" ".join(query.split()), _MAX_CHARACTERS) for query in wanted)
    return next((query for query in queries if query not in searched), None)
