"""The next query of a run without a language model: names to follow, and the words that are still open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from haystack import Document

from prefrag.components.reader.span_candidates import span_candidates
from prefrag.components.reasoner.open_queries import open_queries
from prefrag.components.state.evidence import rank_sentences
from prefrag.components.state.state import State
from prefrag.components.text.term_statistics import passage_text, words

# The passage of the next hop is mostly named in one of the two best. Few names go out, should the web be searched.
_DOCUMENTS = 2
_NAMES = 10


def next_query(state: State) -> str | None:
    """Make the query for the next hop: first the question, then what the last search found with what it left open.

    A query has the names in the two best documents of the last search, those in the sentences nearest to the question
    first, and the words of the question that neither document holds. Names that were searched for before are left out.

    :param state: The state of a run.
    :returns: A query that has not been searched for; None where there is none.
    """
    found = next((step.documents for step in reversed(state.steps) if step.documents), ())[:_DOCUMENTS]
    names = list(islice(_new_names(state, found), _NAMES))
    held = {word for document in found for word in words(passage_text(document))}
    query = " ".join([*names, *(word for word in words(state.question) if word not in held)])
    if names and all(query != search.query for search in state.searches):
        return query
    return next(iter(open_queries(state)), None)


def _new_names(state: State, documents: Sequence[Document]) -> Iterator[str]:
    asked = " ".join([state.question, *(search.query for search in state.searches)]).casefold()
    seen = {str(document.meta.get("title") or "").casefold() for document in documents}
    for one in rank_sentences(state.question, documents):
        for span in span_candidates(0, "", one.sentence):
            name = span.text.casefold()
            if span.kind == "name" and name not in seen and name not in asked:
                seen.add(name)
                yield span.text
