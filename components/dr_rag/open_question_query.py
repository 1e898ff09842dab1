"""Make second-stage queries from the names in a document and the words of the question that are not in the document.

`LinkedStages` uses these queries beside those of the DR-RAG paper.
"""

import re

from haystack import Document, component

from prefrag.components.block import check_whole_number
from prefrag.components.both_ways import as_async
from prefrag.components.text.term_statistics import TermStatistics, analyze_texts, passage_text

# A word. In "Who's Ada?", the matches are "Who", "s" and "Ada".
_WORD = re.compile(r"\w+")


@component
class OpenQuestionQuery:
    """Make a query for the next hop from each document: its names, and the words of the question that are not in it.

    The queries of :class:`QueryDocConcat` contain the text of a document, so they mostly find similar passages. The
    queries made here have only the names of a document and the open words of the question, which are not in the
    document. A word counts as a name if it has a capital letter or begins with a digit.

    Usage example:
    ```python
    from haystack import Document
    from prefrag.components.dr_rag.open_question_query import OpenQuestionQuery

    found = [Document(content="His son Johan Ludvig was a poet.", meta={"title": "Peter Andreas Heiberg"})]
    print(OpenQuestionQuery().run(query="Who married the son of Peter Andreas Heiberg?", documents=found)["queries"])
    # ['married Peter Andreas Heiberg His Johan Ludvig']
    ```
    """

    def __init__(self, term_statistics: TermStatistics | None = None, max_names: int | None = 128):
        """Set how words are compared, and the length of a query.

        :param term_statistics: The Tantivy store or the Elasticsearch retriever. Two words then match if they have the
            same stem. If None, only equal words match.
        :param max_names: The maximum number of names from one document. If None, all names are used.
        :raises ValueError: When max_names is under 1.
        """
        check_whole_number(1, max_names=max_names)
        self.term_statistics = term_statistics
        self.max_names = max_names

    @component.output_types(queries=list[str])
    def run(self, query: str, documents: list[Document]) -> dict[str, list[str]]:
        """Make a query for each document.

        :param query: The question.
        :param documents: The documents that a search for the question found.
        :returns: A dictionary with the key ``queries``: a query for each document, in the same order. An empty query is
            replaced by the question.
        """
        question_words = _WORD.findall(query)
        texts = [passage_text(document) for document in documents]
        # The terms of a word or a text are its words as the index compares them, such as their stems. All are made in
        # one call: first those of each word of the question, then those of each text.
        terms = [set(words) for words in analyze_texts([*question_words, *texts], self.term_statistics)]
        terms_of_words = terms[: len(question_words)]
        terms_of_texts = terms[len(question_words) :]

        queries = []
        for text, text_terms in zip(texts, terms_of_texts, strict=True):
            # A word is open if the text lacks one of its terms. A stop word, such as "the", has no terms and is left
            # out, because the index could not search for it.
            still_open = []
            for word, word_terms in zip(question_words, terms_of_words, strict=True):
                if not word_terms <= text_terms:
                    still_open.append(word)
            names = [word for word in _WORD.findall(text) if word != word.lower() or word[0].isdigit()]
            different_names = dict.fromkeys(names[: self.max_names])
            queries.append(" ".join([*still_open, *different_names]) or query)
        return {"queries": queries}

    run_async = as_async(run)
