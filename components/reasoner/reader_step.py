"""Take the next step of a run without a language model: answer with the extractive reader, or search for more.

The extractive reader finds possible answers in the passages, with their probabilities. If none is likely enough, code
makes the next query from the names in the passages.
"""

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

# The following four texts tell the user why there is no answer. They become events of the trace.
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
    """Add a step: an answer, a search, or the end of the searches if no query is left.

    :param state: The state so far.
    :param candidates: The possible answers that the reader has found, the likeliest first.
    :param reader: The reader. Its ``threshold`` is the least probability of an answer that ends the searches.
    :param tool: The name of the tool of a search.
    :param must_answer: If True, the step is an answer, even if the answer is not sure.
    :returns: The state with the new step. Events in the trace say why there is no answer.
    """
    threshold = reader.threshold
    best = candidates[0] if candidates else None
    certainty = _choose_certainty(best, reader)

    # Users are never shown a yes or no, so a yes or no does not end their search.
    is_shown = certainty != "not_found" or state.settings.prompts != "product"
    is_sure = best is not None and best.probability >= threshold and is_shown
    if not must_answer and not is_sure:
        return _search_next(state, tool)

    # Events say why there is no answer.
    if must_answer and not state.observed and not state.searches:
        state = state.with_event("without_model", text=FROM_MEMORY)
    is_answering = must_answer or certainty != "not_found"
    if is_answering and _asks_for_documents(state):
        # A sentence names one of several documents. Such an answer would give a part of the list as the whole list.
        state = state.with_event("without_model", text=SEVERAL)
        certainty = "not_found"
    elif must_answer and certainty == "not_found" and state.observed:
        state = _explain_not_found(state, best)

    step = Step(Action.ANSWER, certainty=certainty, probability=0.0)
    if best is not None:
        evidence = tuple(
            Evidence(candidate.document, candidate.sentence, state.question, candidate.probability)
            for candidate in candidates
        )
        answer = best.text + mark_of(best.document, state)
        step = replace(step, probability=best.probability, answer=answer, evidence=evidence)
    state = state.with_step(step)
    return state.with_event(
        "read",
        text=cite_plainly(step.answer, known_marks(state)),
        probability=round(step.probability or 0.0, 3),
        threshold=threshold,
        certainty=certainty,
    )


def _search_next(state: State, tool: str) -> State:
    """Add the next search as a step, or the end of the searches if no query is left."""
    query = next_query(state)
    if not query:
        return state.with_step(Step(Action.NONE))
    return state.with_step(Step(Action.SEARCH, tool=tool, query=query, by_code=True))


def _explain_not_found(state: State, best: Candidate | None) -> State:
    """Add an event with the reason why the passages gave no answer, if the reason is known."""
    texts = map(passage_text, state.observed)
    if asks_for_more(state.question) and not fits_nothing(state.question, texts):
        return state.with_event("without_model", text=NEEDS_MODEL)
    if best is None:
        return state.with_event("without_model", text=NOT_READ)
    return state


def _choose_certainty(best: Candidate | None, reader: Reader) -> Certainty:
    """Decide by the limits of the reader how sure its likeliest answer is. None means that it has no answer."""
    # Yes and no are shown only as guesses, because even the likelier of the two may have no sentence that supports it.
    if best is None or best.kind in ("yes", "no"):
        return "not_found"
    if best.kind == "span" and best.probability >= reader.threshold:
        return "stated"
    return "probably" if best.probability >= reader.probable else "not_found"


def _asks_for_documents(state: State) -> bool:
    """Check whether a question asks for documents of a kind, and several titles name this kind.

    For example, "Which contracts do we have?" asks for documents if at least two titles contain the word "contract".
    """
    kind = kind_asked_for(state.question)
    if not kind:
        return False

    titles = {identity(document): str(document.meta.get("title") or "") for document in state.observed}
    titles_with_kind = {title for title in titles.values() if kind in words(title.lower())}
    return len(titles_with_kind) > 1


def mark_of(document: Document, state: State) -> str:
    """Write the citation of a document, with a blank before it, such as `` [1kx]``.

    :param document: The document.
    :param state: The state of the run.
    :returns: The citation. Empty if the model of the run is not asked to cite.
    """
    mark = prompt_marks(state).get(identity(document))
    return f" [{mark}]" if mark else ""


# A query takes names from this number of documents, the best of the last search.
_DOCUMENTS = 2
# A query has at most this number of names. One of the names is usually the title of the passage that is needed next.
# There are no more names, because the query may be sent to the web.
_NAMES = 10
# A run may make at least this many searches, even if its setting `max_steps` is low.
_FEWEST_SEARCHES = 2


def next_query(state: State) -> str | None:
    """Make the query of the next search.

    The first query is the question. A later query has two parts. First, it has new names from the two best documents of
    the last search. Names in the most relevant sentences come first. Second, it has the words of the question that are
    in neither document. If there are no new names, the query is made from a title.

    :param state: The state so far.
    :returns: The query. None if there should be no further search. This is so if the preferred source accepts only the
        question itself and has been searched. It is also so in the last step of a run, unless the question identifies a
        thing by another thing, as in "the author of Emma".
    """
    searches = sum(step.action is Action.SEARCH for step in state.steps)
    has_searched_enough = searches >= max(_FEWEST_SEARCHES, state.settings.max_steps - 1)
    if has_searched_enough and not identifies_by_another(state.question):
        return None
    if state.is_done(state.settings.preferred):
        return None

    last_documents = next((step.documents for step in reversed(state.steps) if step.documents), ())
    documents = last_documents[:_DOCUMENTS]
    names = list(islice(_new_names(state, documents), _NAMES))
    words_of_documents: set[str] = set()
    for document in documents:
        words_of_documents.update(words(passage_text(document)))
    still_open = [word for word in words(state.question) if word not in words_of_documents]
    query = " ".join([*names, *still_open])
    if names and all(query != search.query for search in state.searches):
        return query
    return _open_query(state)


def _new_names(state: State, documents: Sequence[Document]) -> Iterator[str]:
    """Find the names in documents that are neither in the question, nor in an earlier query, nor the documents' titles.

    Names in the sentences nearest to the question come first.
    """
    asked = " ".join([state.question, *(search.query for search in state.searches)]).casefold()
    seen = {str(document.meta.get("title") or "").casefold() for document in documents}
    for ranked in rank_sentences(state.question, documents, split=plain_sentences):
        for span in span_candidates(0, "", ranked.sentence):
            name = span.text.casefold()
            if span.kind == "name" and name not in seen and name not in asked:
                seen.add(name)
                yield span.text


# A query that begins with a title has at most this number of characters.
_MAX_CHARACTERS = 1_000


def _open_query(state: State) -> str | None:
    """Write a query without new names that was not searched yet. None if there is none.

    Before any passage is found, the query is the question. Later, it is the title of a passage, followed by the words
    of the question that no passage contains. If the passages contain all words, the whole question follows.
    """
    seen: set[str] = set()
    for document in state.observed:
        seen.update(words(passage_text(document)))
    still_open = " ".join(word for word in words(state.question) if word not in seen) or state.question

    titles = dict.fromkeys(str(document.meta.get("title") or "") for document in state.retrieved)
    wanted = [state.question]
    if state.retrieved:
        wanted = [f"{title} {still_open}" for title in titles if title]

    searched = {search.query for search in state.searches}
    for text in wanted:
        query = cut_text(" ".join(text.split()), _MAX_CHARACTERS)
        if query not in searched:
            return query
    return None
