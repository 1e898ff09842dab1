"""Second-stage queries made of the words of the question that a document lacks, and the names in the document."""

import re

from haystack import Document, component

from prefrag.components.block import check_whole
from prefrag.components.both_ways import at_once
from prefrag.components.text.term_statistics import TermStatistics, analyze_texts, passage_text

_WORD = re.compile(r"\w+")


@component
class OpenQuestionQuery:
    """Make a query for the next hop from each document: its names, and the question's words that it does not contain.

    :class:`QueryDocConcat` searches for passages similar to question and document, and mostly finds more of the same.
    This query leaves out the question's words that the document contains, and all words of the document but its names.
    A word with a capital letter, or with a digit at its beginning, counts as a name.

    ```python
    from haystack import Document
    from prefrag.components.dr_rag.open_question_query import OpenQuestionQuery

    found = [Document(content="His son Johan Ludvig was a poet.", meta={"title": "Peter Andreas Heiberg"})]
    print(OpenQuestionQuery().run(query="Who married the son of Peter Andreas Heiberg?", documents=found)["queries"])
    ```
    """

    def __init__(self, term_statistics: TermStatistics | None = None, max_names: int | None = 128):
        """Set how words are compared, and the length of a query.

        :param term_statistics: The Tantivy store or the Elasticsearch retriever, to recognise inflections of a word.
            Without it, only equal words match.
        :param max_names: The most names of a document in its query; None for all.
        :raises ValueError: When max_names is under 1.
        """
        check_whole(1, max_names=max_names)
        self.term_statistics = term_statistics
        self.max_names = max_names

    @component.output_types(queries=list[str])
    def run(self, query: str, documents: list[Document]) -> dict[str, list[str]]:
        """Make the queries.

        :param query: The question.
        :param documents: The documents that the question found.
        :returns: ``queries``, one per document in their order; the question itself in place of an empty query.
        """
        question, texts = _WORD.findall(query), [passage_text(document) for document in documents]
        terms = [set(found) for found in analyze_texts([*question, *texts], self.term_statistics)]
        queries = []
        for text, held in zip(texts, terms[len(question) :], strict=True):
            # Stop words and other words without a term are left out, because the index does not search for them.
            still_open = [word for word, meant in zip(question, terms, strict=False) if meant - held]
            names = [word for word in _WORD.findall(text) if word != word.lower() or word[0].isdigit()]
            queries.append(" ".join([*still_open, *dict.fromkeys(names[: self.max_names])]) or query)
        return {"queries": queries}

    run_async = at_once(run)
