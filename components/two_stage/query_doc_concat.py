"""Second-stage queries: the question together with each document that it found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from haystack import Document, component, default_from_dict, default_to_dict

from prefrag.components.state.state import identity


@component
class QueryDocConcat:
    """Joins the question with each document into one query (Query Document Concatenation, section 2.2.1 of DR-RAG).

    A passage that shares few words with the question may share many with a passage that the question finds.

    ```python
    from haystack import Document
    from prefrag.components.two_stage.query_doc_concat import QueryDocConcat

    found = [Document(content="His son Johan Ludvig was a poet.", meta={"title": "Peter Andreas Heiberg"})]
    print(QueryDocConcat().run(query="Who married the child of Peter Andreas Heiberg?", documents=found)["queries"])
    ```
    """

    def __init__(self, parts: Sequence[str] = ("title", "content"), max_words: int | None = 256):
        """
        :param parts: What of a document goes into its query, in this order: ``content``, or a field of its meta.
        :param max_words: Words of a document that go into its query; None for all. The question is never cut.
        :raises ValueError: When there is no part, or less than one word.
        """
        if isinstance(parts, str) or not parts:
            raise ValueError(f"parts is {parts!r}: give a list of `content` and fields of the meta, such as `title`.")
        if max_words is not None and max_words < 1:
            raise ValueError(f"max_words is {max_words}: set it to at least 1, or to null for whole documents.")
        self.parts = list(parts)
        self.max_words = max_words

    def to_dict(self) -> dict[str, Any]:
        """:returns: The component as plain values."""
        return default_to_dict(self, parts=self.parts, max_words=self.max_words)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> QueryDocConcat:
        """:param data: See :meth:`to_dict`. :returns: The component."""
        return default_from_dict(cls, data)

    @component.output_types(queries=list[str])
    def run(self, query: str, documents: list[Document]) -> dict[str, list[str]]:
        """
        :param query: The question.
        :param documents: The documents that it found.
        :returns: ``queries``, one a document, in their order; the bare question for a document without text.
        """
        return {"queries": [" ".join([query.strip(), *self._words(document)]) for document in documents]}

    @component.output_types(queries=list[str])
    async def run_async(self, query: str, documents: list[Document]) -> dict[str, list[str]]:
        """As :meth:`run`."""
        return self.run(query, documents)

    def _words(self, document: Document) -> list[str]:
        values = (document.content if part == "content" else document.meta.get(part) for part in self.parts)
        words = " ".join(str(value) for value in values if value is not None).split()
        return words[: self.max_words]


def first_not_held(documents: Sequence[Document], candidates: Sequence[Sequence[Document]], k: int) -> list[Document]:
    """Fill a context to ``k`` documents (equation 1 of DR-RAG, without a classifier).

    Each first-stage document in turn adds the first of its second-stage list that is not in the context yet. Where
    that leaves room the turns go on, as appendix A.2 has it.

    :param documents: The documents of the first stage.
    :param candidates: The second-stage list of each of them, best first.
    :param k: The most documents to give.
    :returns: The documents of the first stage, then those added, each once.
    """
    context = {identity(document): document for document in documents}
    turns = [iter(candidate_list) for candidate_list in candidates]
    while turns and len(context) < k:
        for turn in list(turns):
            found = next((document for document in turn if identity(document) not in context), None)
            if found is None:
                turns.remove(turn)
            elif len(context) < k:
                context[identity(found)] = found
    return list(context.values())[:k]
