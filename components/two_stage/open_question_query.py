"""Second-stage queries: what a document leaves open of the question, together with the names that it brings."""

from __future__ import annotations

import re

from haystack import Document, component

from prefrag.components.text.term_statistics import TermStatistics, analyze_texts, passage_text

_WORD = re.compile(r"\w+")


@component
class OpenQuestionQuery:
    """Leads on from each document: the next hop is about a name that it brings, and holds what it does not.

    :class:`QueryDocConcat` searches for what is like question and document, and finds mostly
    more of the same. Here the words of the question that the document answers to are left out, and so are those of the
    document that are no names: written without a capital letter or a digit.

    ```python
    from haystack import Document
    from prefrag.components.two_stage.open_question_query import OpenQuestionQuery

    found = [Document(content="His son Johan Ludvig was a poet.", meta={"title": "Peter Andreas Heiberg"})]
    print(OpenQuestionQuery().run(query="Who married the son of Peter Andreas Heiberg?", documents=found)["queries"])
    ```
    """

    def __init__(self, term_statistics: TermStatistics | None = None, max_names: int | None = 128):
        """Set what analyses the words.

        :param term_statistics: Recognises that two words are inflections of one: the embedded store, or the
            Elasticsearch retriever; without it they have to be spelt alike.
        :param max_names: Words of a document that go into its query; None for all.
        :raises ValueError: When it is less than one word.
        """
        if max_names is not None and max_names < 1:
            raise ValueError(f"max_names is {max_names}: set it to at least 1, or to null for all.")
        self.term_statistics = term_statistics
        self.max_names = max_names

    @component.output_types(queries=list[str])
    def run(self, query: str, documents: list[Document]) -> dict[str, list[str]]:
        """Make the queries.

        :param query: The question.
        :param documents: The documents that it found.
        :returns: ``queries``, one a document, in their order; the question for one that leaves nothing open.
        """
        question, texts = _WORD.findall(query), [passage_text(document) for document in documents]
        terms = [set(found) for found in analyze_texts([*question, *texts], self.term_statistics)]
        queries = []
        for text, held in zip(texts, terms[len(question) :], strict=True):
            # A word that the analysis leaves out is neither held nor missing: the index does not search for it.
            still_open = [word for word, meant in zip(question, terms, strict=False) if meant - held]
            names = [word for word in _WORD.findall(text) if word != word.lower() or word[0].isdigit()]
            queries.append(" ".join([*still_open, *dict.fromkeys(names[: self.max_names])]) or query)
        return {"queries": queries}

    @component.output_types(queries=list[str])
    async def run_async(self, query: str, documents: list[Document]) -> dict[str, list[str]]:
        """Make the queries; the same as :meth:`run`."""
        return self.run(query, documents)
