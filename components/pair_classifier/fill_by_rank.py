"""Select the context of DR-RAG by rank from the documents of both stages, without a classifier.

The pipeline `dr_rag_qdc` selects in this way, and `PairClassifier` does so before it drops documents.
"""

from collections.abc import Sequence

from haystack import Document

from prefrag.components.state.state import identity


def fill_by_rank(documents: Sequence[Document], candidates: Sequence[Sequence[Document]], k: int) -> list[Document]:
    """Fill a context with up to ``k`` documents (equation 1 of DR-RAG, without a classifier).

    The context begins with the documents of the first stage. Then these documents take turns (appendix A.2). In its
    turn, a document adds the best document of its second-stage list that is not in the context yet. This ends when the
    context is full or all lists are used up.

    For example, the documents A and B have the lists [C, D] and [C, E]. For ``k=5``, the context is A, B, C, E, D.

    :param documents: The documents of the first stage, best first.
    :param candidates: For each of ``documents``, the list of its second-stage documents, best first.
    :param k: The maximum number of documents in the context.
    :returns: The documents of the context, without repetitions.
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
