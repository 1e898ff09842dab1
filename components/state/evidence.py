"""The evidence of a run: the sentences of the likeliest answers, and for each search the one that says most."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import log

from haystack import Document

from prefrag.components.state.state import Evidence, Identity, State, identity
from prefrag.components.text.sentences import sentence_spans, shown_sentences
from prefrag.components.text.term_statistics import words

_MAX_SENTENCES = 5
# A document that came with the question may be a book, and a line of a corpus ten megabytes.
_MAX_READ = 6_000
_MAX_RANKED = 60_000
_WORD = re.compile(r"\w+")
# Answers that are no words of a document.
_NOT_IN_TEXTS = frozenset(("", "yes", "no"))


def find_evidence(state: State) -> list[Evidence]:
    """Choose the sentence that carries the answer, one for each search, and those of the other candidates."""
    read = next((step.evidence for step in reversed(state.steps) if step.evidence), ())
    found = [*read[:1], *rank_sentences(state.question, state.attached)[:1]]
    for step in state.steps:
        found += rank_sentences(step.query or state.question, step.documents, state.question)[:1]
    chosen: dict[tuple[Identity, str], Evidence] = {}
    for one in (*found, *read[1:]):
        chosen.setdefault((identity(one.document), one.sentence), one)
    return list(chosen.values())[:_MAX_SENTENCES]


def rank_sentences(
    query: str,
    documents: Sequence[Document],
    question: str = "",
    split: Callable[[str], list[str]] = shown_sentences,
) -> list[Evidence]:
    """Rank the sentences of documents by the words of a query that they hold, rare words first."""
    sentences = [(one, sentence) for one in documents for sentence in split((one.content or "")[:_MAX_RANKED])]
    held = [set(words(f"{one.meta.get('title') or ''} {sentence}")) for one, sentence in sentences]
    weights = _weights(held, {*words(query), *words(question)})
    scores = [sum(weights.get(word, 0.0) for word in one) for one in held]
    return [Evidence(*sentences[place], query) for place in sorted(range(len(scores)), key=lambda one: -scores[one])]


def find_sentence(text: str, query: str, question: str, answer: str = "") -> tuple[int, int] | None:
    """Find the sentence of a document that speaks most to an answer, or else to a query."""
    spans = sentence_spans(text[:_MAX_READ])
    sentences = [text[begin:end].lower() for begin, end in spans]
    wanted = [set(words(one)) for one in (answer, query, question)]
    every = set().union(*wanted)
    held = [every.intersection(_WORD.findall(sentence)) for sentence in sentences]
    weights = _weights(held, every)
    # An answer may be a number or a name without a long word.
    scores = [
        (bool(find_whole(answer, sentence)), *(sum(weights.get(word, 0.0) for word in own & one) for one in wanted))
        for sentence, own in zip(sentences, held, strict=True)
    ]
    best = max(range(len(scores)), key=scores.__getitem__, default=None)
    return spans[best] if best is not None and any(scores[best]) else None


def find_whole(answer: str, text: str) -> re.Match[str] | None:
    """Find the words of an answer in a text, in any case."""
    if answer.lower() in _NOT_IN_TEXTS:
        return None
    return re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", text, re.IGNORECASE)


def _weights(held: Sequence[Iterable[str]], wanted: set[str]) -> Mapping[str, float]:
    counts = Counter(word for one in held for word in one if word in wanted)
    return {word: log(1 + len(held) / count) for word, count in counts.items()}
