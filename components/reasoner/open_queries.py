"""The queries for what is open: for whoever can choose a query, but not write one."""

from __future__ import annotations

from prefrag.components.state.state import State
from prefrag.components.text.term_statistics import passage_text, words

# A longer list makes the grammar of a model's reply slow, and the best passages come first.
MAX_CHOICES = 12
MAX_CHARACTERS = 1_000


def open_queries(state: State) -> list[str]:
    """List the queries for what the passages so far leave open.

    The first query is the question; later ones are the title of an observed passage with the words of the question
    that no observed passage contains.

    :param state: The state of a run.
    :returns: Queries that have not been searched for, the best first.
    """
    searched = {search.query for search in state.searches}
    titles = dict.fromkeys(str(document.meta.get("title") or "") for document in state.retrieved)
    known = {word for document in state.observed for word in words(passage_text(document))}
    still_open = " ".join(word for word in words(state.question) if word not in known) or state.question
    wanted = [f"{title} {still_open}" for title in titles if title] if state.retrieved else [state.question]
    queries = [" ".join(query.split())[:MAX_CHARACTERS] for query in wanted]
    return [query for query in queries if query not in searched][:MAX_CHOICES]
