"""The ranker that prefers documents whose title the query names.

PrefRAG multiplies the score of such a document by a factor. A factor over 1 is called a boost.
"""

import re
from dataclasses import replace

from haystack import Document, component

from prefrag.components.both_ways import as_async
from prefrag.components.retrievers.provider import Retrieved
from prefrag.components.retrievers.search_settings import wanted_top_k
from prefrag.components.text.unicode_form import normalize_unicode

# A parenthesis at the end of a title. Queries usually leave it out and say "Psycho" for "Psycho (1960 film)".
# Matches: "Psycho (1960 film)". Does not match: "(1960) Psycho".
_PARENTHESIS = re.compile(r"\s*\([^()]*\)\s*$")

# The factors of PrefRAG. The first factor is for a title that equals the query. The second is for a title that differs
# from the query only in case. The third is for a title that occurs in the query.
# The factors for the whole title.
_WHOLE = (1.5, 1.2, 1.1)
# The factors for the title without a parenthesis at its end.
_CORE = (1.2, 1.1, 1.05)


@component
class TitleMatchRanker:
    """Raise the scores of documents whose title equals the query or occurs in it, then return the best documents.

    These are the title boosts of PrefRAG. The candidates may come from any retriever. The paper uses 50 candidates.

    The whole title is compared first, then the title without a parenthesis at its end. The first match sets the factor.
    A negative score is divided by the factor. A title occurs in a query only as whole words, in upper or lower case:
    "Art" does not occur in "party".

    Usage example:
    ```python
    from haystack import Document
    from prefrag.components.rankers.title_match_ranker import TitleMatchRanker

    candidates = [
        Document(content="A city.", meta={"title": "Vienna"}, score=2.1),
        Document(content="A square.", meta={"title": "Karlsplatz"}, score=2.0),
    ]
    print(TitleMatchRanker(top_k=1).run(query="Who designed Karlsplatz?", documents=candidates)["documents"])
    ```
    """

    def __init__(self, top_k: int = 5) -> None:
        """Set how many documents are returned.

        :param top_k: The maximum number of documents to return.
        :raises ValueError: When top_k is under 1.
        """
        self.top_k = wanted_top_k(top_k)

    @component.output_types(documents=list[Document])
    def run(self, query: str, documents: list[Document], top_k: int | None = None) -> Retrieved:
        """Raise the scores of matching candidates, sort all candidates and return the best candidates.

        :param query: The query that found the candidates.
        :param documents: The candidates. A missing score counts as 1. The score of a document without a title stays.
        :param top_k: The maximum number of documents to return. If None, the `top_k` of the constructor is used.
        :returns: A dictionary with the key `documents`: the best candidates with their new scores, best first.
            Candidates with equal scores stay in the same order.
        :raises ValueError: When top_k is under 1.
        """
        top_k = wanted_top_k(self.top_k, top_k)
        query = normalize_unicode(query.strip())
        folded = query.casefold()
        scored = []
        for document in documents:
            score = 1.0 if document.score is None else document.score
            title = normalize_unicode(str(document.meta.get("title") or ""))
            boost = self._boost(title, query, folded)
            # The scores of a cross-encoder may be negative. A division raises such scores. A multiplication would lower
            # them.
            boosted = score / boost if score < 0 else score * boost
            scored.append((boosted, document))
        scored.sort(key=lambda pair: pair[0], reverse=True)
        return {"documents": [replace(document, score=score) for score, document in scored[:top_k]]}

    run_async = as_async(run)

    def _boost(self, title: str, query: str, folded: str) -> float:
        """Return the factor for a title, or 1 if the query does not name it. ``folded`` is the query without case.

        For example, the factor of the title "Psycho (1960 film)" is 1.2 for the query "Psycho".
        """
        core = _PARENTHESIS.sub("", title)
        for name, factors in ((title.strip(), _WHOLE), (core.strip(), _CORE)):
            exact, case_insensitive, inside = factors
            if not name:
                continue
            if name == query:
                return exact
            if name.casefold() == folded:
                return case_insensitive
            # The test with `in` comes first, because it is quick and almost always false.
            named = name.casefold()
            if named in folded and re.search(rf"(?<!\w){re.escape(named)}(?!\w)", folded):
                return inside
        return 1.0
