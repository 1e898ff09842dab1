"""Make second-stage queries, which join the question with each document of the first stage."""

from collections.abc import Sequence

from haystack import Document, component

from prefrag.components.block import check_whole_number
from prefrag.components.both_ways import as_async


@component
class QueryDocConcat:
    """Join the question with each document into one query (Query Document Concatenation, section 2.2.1 of DR-RAG).

    A relevant passage may share few words with the question, but many words with a passage of the first stage.

    Usage example:
    ```python
    from haystack import Document
    from prefrag.components.dr_rag.query_doc_concat import QueryDocConcat

    found = [Document(content="His son Johan Ludvig was a poet.", meta={"title": "Peter Andreas Heiberg"})]
    print(QueryDocConcat().run(query="Who married the child of Peter Andreas Heiberg?", documents=found)["queries"])
    ```
    """

    def __init__(self, parts: Sequence[str] = ("title", "content"), max_words: int | None = 256):
        """Set what a query contains.

        :param parts: The parts of a document to add, in the order of this list: ``content`` or names of metadata
            fields. With an empty list, every query is the question alone, as in the ablation of table 4 ("w/o QDC").
        :param max_words: The maximum number of words from a document. If None, all words are used. The question is
            never cut.
        :raises ValueError: When parts is not a list, or max_words is under 1.
        """
        if isinstance(parts, str):
            raise ValueError(f"parts is {parts!r}: give a list of `content` and metadata fields, such as `title`.")
        check_whole_number(1, max_words=max_words)
        self.parts = list(parts)
        self.max_words = max_words

    @component.output_types(queries=list[str])
    def run(self, query: str, documents: list[Document]) -> dict[str, list[str]]:
        """Make a query for each document.

        :param query: The question.
        :param documents: The documents of the first stage.
        :returns: A dictionary with the key ``queries``: a query for each document, in the same order. For a document
            without text, the query is the question alone.
        """
        queries = []
        for document in documents:
            queries.append(" ".join([query.strip(), *self._words(document)]))
        return {"queries": queries}

    run_async = as_async(run)

    def _words(self, document: Document) -> list[str]:
        """List the words of a document that are added to the question."""
        words: list[str] = []
        for part in self.parts:
            value = document.content if part == "content" else document.meta.get(part)
            if value is not None:
                words += str(value).split()
        return words[: self.max_words]
