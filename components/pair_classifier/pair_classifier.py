"""The component that classifies pairs of documents, and selects documents by the scores of their pairs.

DR-RAG retrieves in two stages. The first stage searches with the question. The second stage searches once more for each
document of the first stage, with the question and this document. The classifier then estimates for each pair, a
first-stage document and another document, whether the answer needs both. Its scores decide which documents are kept.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, islice, product
from typing import Any, Literal, get_args

from haystack import Document, component

from prefrag.components.block import check_choice, check_range, check_whole_number
from prefrag.components.both_ways import in_thread_async
from prefrag.components.pair_classifier.fill_by_rank import fill_by_rank
from prefrag.components.pair_classifier.pair_scorer import Pair, PairScorer
from prefrag.components.pair_classifier.transformer_pair_scorer import TransformerPairScorer
from prefrag.components.pair_classifier.tree_pair_scorer import TreePairScorer
from prefrag.components.state.state import Identity, identity

# The values of the settings of `PairClassifier`, which describes them.
Engine = Literal["trees", "transformer"]
Selection = Literal["cis", "cfs", "fill"]
Drop = Literal["second_stage", "any"]
Accept = Literal["first", "all"]

_ENGINES = get_args(Engine)


@component
class PairClassifier:
    """Select documents by their pairs. A pair is positive if an answer needs both documents (section 2.2.2 of DR-RAG).

    There are three methods of selection:

    - *Classifier Inverse Selection* (``cis``) fills the context to ``k`` documents, then drops redundant documents.
    - *Classifier Forward Selection* (``cfs``) begins with the first stage and adds only documents of positive pairs.
    - ``fill``, which is not in the paper, selects the ``k`` documents with the best pairs.

    ``cis`` and ``cfs`` may select fewer than ``k`` documents.

    Usage example:
    ```python
    from haystack import Document
    from prefrag.components.pair_classifier.pair_classifier import PairClassifier

    classifier = PairClassifier(selection="fill", k=4)
    first, second = Document(content="Heiberg's son was Johan."), Document(content="Johan married Johanne.")
    print(classifier.run("Who married Heiberg's son?", [first], [[first, second]])["documents"])
    ```
    """

    def __init__(
        self,
        engine: PairScorer | Engine = "trees",
        selection: Selection = "cfs",
        k: int = 6,
        threshold: float = 0.5,
        drop: Drop = "second_stage",
        accept: Accept = "first",
        lookahead: int = 3,
        rank_weight: float = 0.05,
    ):
        """Set the engine and the method of selection.

        :param engine: The scorer of pairs: ``trees`` (the shipped decision trees), ``transformer``, or any object with
            the method of :class:`PairScorer`.
        :param selection: ``cis``, ``cfs`` or ``fill``.
        :param k: The maximum number of documents to select, including those of the first stage.
        :param threshold: A pair is positive if its score is at least this number, between 0 and 1. ``fill`` does not
            use the threshold. The trees for ``cis`` and ``cfs`` were trained on equal numbers of positive and negative
            pairs, as in DR-RAG (appendix A.1). In use, only 3 to 23% of the pairs are positive. So a pair with a score
            of 0.5 is positive with a probability of less than 50%.
        :param drop: Which documents ``cis`` may drop. With ``second_stage``, it may drop a second-stage document that
            has no positive pair with a first-stage document (equation 3). With ``any``, it may drop every document
            that has no positive pair (text of section 2.2.2).
        :param accept: What ``cfs`` adds from each second-stage list: the ``first`` accepted document (equation 4), or
            ``all`` accepted documents (algorithm 1). In both cases, ``cfs`` stops at ``k`` documents.
        :param lookahead: The number of documents of each second-stage list that ``cfs`` scores in one batch. A larger
            number means fewer batches but more pairs. An engine whose ``together`` is true gets all pairs at once.
        :param rank_weight: The bonus that ``fill`` adds to the score of the first document of the first stage. The
            second document gets half of the bonus, the third document a third, and so on. If all pairs have low
            scores, as in a corpus unlike the training data, the order of the first stage decides. If a pair has a high
            score, the bonus hardly matters.
        :raises ValueError: When a setting is invalid.
        """
        if isinstance(engine, str):
            if engine not in _ENGINES:
                raise ValueError(f"engine is '{engine}': set it to {' or '.join(_ENGINES)}, or give a pair scorer.")
            # Trees trained on pairs suit a threshold. Trees trained on passages suit a ranking.
            trees = TreePairScorer(label="passage" if selection == "fill" else "pair")
            engine = trees if engine == "trees" else TransformerPairScorer()
        if not callable(getattr(engine, "score", None)):
            raise ValueError("The engine has no `score(question, pairs)`: give a pair scorer.")
        check_choice(get_args(Selection), selection=selection)
        check_choice(get_args(Drop), drop=drop)
        check_choice(get_args(Accept), accept=accept)
        check_whole_number(1, k=k, lookahead=lookahead)
        if not 0 < threshold < 1:
            raise ValueError(f"threshold is {threshold}: set it between 0 and 1.")
        check_range(0, 1e6, rank_weight=rank_weight)
        self.engine = engine
        self.selection = selection
        self.k = k
        self.threshold = threshold
        self.drop = drop
        self.accept = accept
        self.lookahead = lookahead
        self.rank_weight = rank_weight

    def warm_up(self) -> None:
        """Load the classifier.

        :raises FileNotFoundError: When there is no trained classifier.
        """
        if hasattr(self.engine, "warm_up"):
            self.engine.warm_up()

    @component.output_types(documents=list[Document], pairs=list[dict[str, Any]])
    def run(
        self, query: str, documents: list[Document], candidates: list[list[Document]], k: int | None = None
    ) -> dict[str, Any]:
        """Select documents by the scores of their pairs.

        :param query: The question.
        :param documents: The documents of the first stage, best first.
        :param candidates: For each of ``documents``, the list of its second-stage documents, best first.
        :param k: The maximum number of documents to select. If None, the ``k`` of the constructor is used.
        :returns: A dictionary with the following keys:
            - ``documents``: The selected documents. With ``fill``, the best documents come first. With the other
              methods, documents of the first stage come before those of the second stage.
            - ``pairs``: The scored pairs, each a dictionary with ``documents`` (two ids), ``score`` (0 to 1) and
              ``positive``.
        :raises ValueError: When a document has no list, ``k`` is under 1, or a pair gets no finite score.
        :raises FileNotFoundError: When there is no trained classifier.
        """
        k = self.k if k is None else k
        if k < 1:
            raise ValueError(f"k is {k}: set it to at least 1.")
        if len(candidates) != len(documents):
            raise ValueError(
                f"There are {len(candidates)} lists of candidates for {len(documents)} documents: give a list for each."
            )

        unique: dict[Identity, Document] = {}
        second_stages: list[list[Document]] = []
        for document, second_stage in zip(documents, candidates, strict=True):
            if identity(document) not in unique:
                unique[identity(document)] = document
                second_stages.append(second_stage)

        verdicts = _Verdicts(query, self.engine, self.threshold)
        select = {"cis": self._inverse, "cfs": self._forward, "fill": self._fill}[self.selection]
        selected = select(list(unique.values()), second_stages, k, verdicts)
        return {"documents": selected, "pairs": verdicts.to_list()}

    run_async = in_thread_async(run)

    @property
    def _together(self) -> bool:
        """Whether the engine must get all pairs of a question in one call."""
        return bool(getattr(self.engine, "together", False))

    def _inverse(
        self, documents: list[Document], candidates: list[list[Document]], k: int, verdicts: _Verdicts
    ) -> list[Document]:
        """Select with ``cis``: fill the context by rank, then drop the documents without a positive pair."""
        context = fill_by_rank(documents, candidates, k)
        keys_of_first = {identity(document) for document in documents}
        first_stage = [document for document in context if identity(document) in keys_of_first]
        second_stage = [document for document in context if identity(document) not in keys_of_first]
        pairs: list[Pair] = list(combinations(context, 2))
        if self.drop == "second_stage":
            pairs = list(product(first_stage, second_stage))
        pairs_to_score = pairs
        if self._together:
            # The scores depend on the question's other pairs, so the engine needs all pairs in one call.
            pairs_to_score = [*pairs, *all_pairs(documents, candidates)]
        verdicts.score_pairs(pairs_to_score)

        # The documents that are in a positive pair.
        wanted: set[Identity] = set()
        for pair in pairs:
            if verdicts.is_positive(*pair):
                wanted.update(map(identity, pair))
        if self.drop == "second_stage":
            return first_stage + [document for document in second_stage if identity(document) in wanted]
        # If no pair is positive, nothing shows which documents are redundant. All documents of the first stage stay.
        return [document for document in context if identity(document) in wanted] or first_stage

    def _forward(
        self, documents: list[Document], candidates: list[list[Document]], k: int, verdicts: _Verdicts
    ) -> list[Document]:
        """Select with ``cfs``: score pairs in batches until enough scores are known to fill the context."""
        if self._together:
            verdicts.score_pairs(all_pairs(documents, candidates))
        while True:
            context, unknown = self._walk(documents, candidates, k, verdicts)
            if not unknown:
                return context
            verdicts.score_pairs(unknown)

    def _fill(
        self, documents: list[Document], candidates: list[list[Document]], k: int, verdicts: _Verdicts
    ) -> list[Document]:
        """Select with ``fill``: score all pairs, and select the documents with the best pairs."""
        pairs = all_pairs(documents, candidates)
        verdicts.score_pairs(pairs)
        scores = [verdicts.score(*pair) for pair in pairs]
        return by_best_pair(documents, pairs, scores, self.rank_weight)[:k]

    def _walk(
        self, documents: list[Document], candidates: list[list[Document]], k: int, verdicts: _Verdicts
    ) -> tuple[list[Document], list[Pair]]:
        """Fill the context for ``cfs`` as far as the scores of the pairs are known.

        Return the documents of the context, and the pairs to score next. Without such pairs, the context is final.
        """
        context = {identity(document): document for document in documents[:k]}
        unknown: list[Pair] = []
        for first, second_stage in zip(documents, candidates, strict=True):
            # After a pair without a score, the lists of the other documents are still walked, so that their next pairs
            # are in the same batch.
            unknown += self._walk_list(first, second_stage, k, context, verdicts)
        return list(context.values()), unknown

    def _walk_list(
        self,
        first: Document,
        second_stage: list[Document],
        k: int,
        context: dict[Identity, Document],
        verdicts: _Verdicts,
    ) -> list[Pair]:
        """Add documents of one list to the context, up to the first pair without a score. Return the pairs to score."""
        for position, second in enumerate(second_stage):
            if len(context) >= k:
                return []
            if identity(second) in context:
                continue
            if not verdicts.is_known(first, second):
                # This pair and the next ones without a score become a batch.
                further = (document for document in second_stage[position:] if identity(document) not in context)
                unscored = (document for document in further if not verdicts.is_known(first, document))
                return [(first, document) for document in islice(unscored, self.lookahead)]
            if verdicts.is_positive(first, second):
                context[identity(second)] = second
                if self.accept == "first":
                    return []
        return []


def all_pairs(documents: Sequence[Document], candidates: Sequence[Sequence[Document]]) -> list[Pair]:
    """Pair each first-stage document with its second-stage documents, and with all other first-stage documents.

    For example, the documents A and B have the second-stage lists [C] and [C]. The pairs are then (A, C), (A, B),
    (B, C) and (B, A).

    :param documents: The documents of the first stage, without repetitions.
    :param candidates: For each of ``documents``, the list of its second-stage documents.
    :returns: The pairs, without repetitions. The first document of each pair is from the first stage.
    """
    first_stage = {identity(document): document for document in documents}
    pairs: list[Pair] = []
    for first, second_stage in zip(documents, candidates, strict=True):
        others = {identity(document): document for document in second_stage} | first_stage
        del others[identity(first)]
        pairs += [(first, second) for second in others.values()]
    return pairs


def by_best_pair(
    documents: Sequence[Document], pairs: Sequence[Pair], scores: Sequence[float], rank_weight: float
) -> list[Document]:
    """Rank the documents of both stages by the scores of their best pairs.

    :param documents: The documents of the first stage, best first.
    :param pairs: The pairs of documents, as :func:`all_pairs` makes them.
    :param scores: The score of each pair, from 0 to 1, in the order of ``pairs``.
    :param rank_weight: The bonus for the first document of the first stage, as in :class:`PairClassifier`.
    :returns: All documents of ``documents`` and ``pairs``, best first.
    """
    unique = {identity(document): document for document in documents}
    best = dict.fromkeys(unique, 0.0)
    for pair, score in zip(pairs, scores, strict=True):
        for document in pair:
            key = identity(document)
            unique[key] = document
            best[key] = max(best.get(key, 0.0), score)

    for place, document in enumerate(documents, start=1):
        best[identity(document)] += rank_weight / place
    best_first = sorted(unique, key=best.__getitem__, reverse=True)
    return [unique[key] for key in best_first]


class _Verdicts:
    """The scores of the pairs of one question. Each pair is scored only once."""

    def __init__(self, question: str, engine: PairScorer, threshold: float):
        self._question = question
        self._engine = engine
        self._threshold = threshold
        self._scores: dict[tuple[Identity, Identity], float] = {}

    def is_known(self, first: Document, second: Document) -> bool:
        """Check whether a pair has been scored."""
        return (identity(first), identity(second)) in self._scores

    def score(self, first: Document, second: Document) -> float:
        """Return the score of a pair, from 0 to 1. The pair must have been scored."""
        return self._scores[identity(first), identity(second)]

    def is_positive(self, first: Document, second: Document) -> bool:
        """Check whether the score of a pair reaches the threshold. The pair must have been scored."""
        return self.score(first, second) >= self._threshold

    def score_pairs(self, pairs: Sequence[Pair]) -> None:
        """Score those of the pairs that have no score yet. Raise ValueError if a score is missing or not finite."""
        by_key = {(identity(first), identity(second)): (first, second) for first, second in pairs}
        new = {key: pair for key, pair in by_key.items() if key not in self._scores}
        if not new:
            return
        scores = self._engine.score(self._question, list(new.values()))
        if len(scores) != len(new):
            raise ValueError(f"The pair classifier gave {len(scores)} scores for {len(new)} pairs.")
        if not all(map(math.isfinite, scores)):
            raise ValueError("The pair classifier returned a score that is not a number: its weights may be damaged.")
        self._scores.update(zip(new, map(float, scores), strict=True))

    def to_list(self) -> list[dict[str, object]]:
        """Return each scored pair as a dictionary: the ids of its documents, its score, and whether it is positive."""
        verdicts = []
        for (first, second), score in self._scores.items():
            # The identity of a document is its id and its text.
            id_of_first, _ = first
            id_of_second, _ = second
            ids = [id_of_first, id_of_second]
            verdicts.append({"documents": ids, "score": round(score, 4), "positive": score >= self._threshold})
        return verdicts
