"""Select DR-RAG's context from the documents of both stages by rank, without a classifier."""

from collections.abc import Sequence

from haystack import Document

from prefrag.components.state.state import identity


def fill_by_rank(documents: Sequence[Document], candidates: Sequence[Sequence[Document]], k: int) -> list[Document]:
    """Fill a context with up to ``k`` documents (equation 1 of DR-RAG, without a classifier).

    The context begins with the documents of the first stage. They take turns: each adds the best document of its
    second-stage list, skipping what is already there, until the context is full or no list is left (appendix A.2).
    """
    context = {identity(document): document for document in documents}
    turns = [iter(candidate_list) for candidate_list in candidates]
    while turns and len(context) < k:
        for turn in list(turns):
            next_document = next((document for document in turn if identity(document) not in context), None)
            if next_document is None:
                turns.remove(turn)
            elif len(context) < k:
                context[identity(next_document)] = next_document
    return list(context.values())[:k]
