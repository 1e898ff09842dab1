"""The evidence of a run: the sentences of the likeliest answers, and for each search the one that says most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import log

from haystack import Document

from prefrag.components.state.state import Evidence, Identity, State, identity
from prefrag.components.text.sentences import split_sentences
from prefrag.components.text.term_statistics import words

_MAX_SENTENCES = 5


def find_evidence(state: State) -> list[Evidence]:
    """Choose the sentence that carries the answer, one for each search, and those of the other candidates.

    :param state: The state at the end of a run.
    :returns: At most five sentences, each once: that of the answer first, then in the order of the searches.
    """
    read = next((step.evidence for step in reversed(state.steps) if step.evidence), ())
    found = [*read[:1], *rank_sentences(state.question, state.attached)[:1]]
    for step in state.steps:
        found += rank_sentences(step.query or state.question, step.documents, state.question)[:1]
    chosen: dict[tuple[Identity, str], Evidence] = {}
    for one in (*found, *read[1:]):
        chosen.setdefault((identity(one.document), one.sentence), one)
    return list(chosen.values())[:_MAX_SENTENCES]


def rank_sentences(query: str, documents: Sequence[Document], question: str = "") -> list[Evidence]:
    """Rank the sentences of documents by the words of a query that they hold, rare words first.

    :param query: The query.
    :param documents: The documents, best first; of two sentences that are as good the earlier one comes first.
    :param question: A question whose words count as well.
    :returns: The sentences, best first.
    """
    sentences = [(one, sentence) for one in documents for sentence in split_sentences(one.content or "")]
    held = [set(words(f"{one.meta.get('title') or ''} {sentence}")) for one, sentence in sentences]
    weights = _weights(held, {*words(query), *words(question)})
    scores = [sum(weights.get(word, 0.0) for word in one) for one in held]
    return [Evidence(*sentences[place], query) for place in sorted(range(len(scores)), key=lambda one: -scores[one])]


def _weights(held: Sequence[Iterable[str]], wanted: set[str]) -> Mapping[str, float]:
    counts = Counter(word for one in held for word in one if word in wanted)
    return {word: log(1 + len(held) / count) for word, count in counts.items()}
