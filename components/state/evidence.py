"""The evidence of a run: for each search the sentence that says most about its query."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import log

from haystack import Document

from prefrag.components.state.state import Evidence, State, identity
from prefrag.components.text.term_statistics import words

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"\u201c])|\n+")
_MAX_CHARACTERS = 600


def find_evidence(state: State) -> list[Evidence]:
    """Choose the sentence that carries the answer, and one for each search.

    :param state: The state at the end of a run.
    :returns: The sentences, each once: that of the answer first, then in the order of the searches.
    """
    found = [step.evidence for step in reversed(state.steps)]
    if state.attached:
        found.append(_best_sentence(state.question, state.attached, state.question))
    for step in state.steps:
        found.append(_best_sentence(step.query or state.question, step.documents, state.question))
    chosen = {(identity(one.document), one.sentence): one for one in reversed(found) if one is not None}
    return list(reversed(chosen.values()))


def split_sentences(text: str) -> list[str]:
    """Split a text into its sentences.

    :param text: The text.
    :returns: The sentences, none of them empty, cut to 600 characters.
    """
    return [part.strip()[:_MAX_CHARACTERS] for part in _SENTENCE_END.split(text) if part.strip()]


def _best_sentence(query: str, documents: Sequence[Document], question: str) -> Evidence | None:
    """Choose the sentence with most of the words of query and question, rare ones first."""
    sentences = [(one, sentence) for one in documents for sentence in split_sentences(one.content or "")]
    if not sentences:
        return None
    held = [set(words(f"{one.meta.get('title') or ''} {sentence}")) for one, sentence in sentences]
    weights = _weights(held, {*words(query), *words(question)})
    # The earlier one of two that are as good, because documents come best first.
    best = max(range(len(sentences)), key=lambda place: (sum(weights.get(word, 0.0) for word in held[place]), -place))
    return Evidence(*sentences[best], query)


def _weights(held: Sequence[Iterable[str]], wanted: set[str]) -> Mapping[str, float]:
    counts = Counter(word for one in held for word in one if word in wanted)
    return {word: log(1 + len(held) / count) for word, count in counts.items()}
