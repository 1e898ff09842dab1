"""The snippets that a noisy web shows of its passages."""

from __future__ import annotations

from prefrag.components.text.sentences import plain_sentences


def cut_to_sentences(text: str, many: int) -> str:
    """Cut a text to its first sentences, as the snippet of a search engine is."""
    sentences = plain_sentences(text)
    return text if not many or len(sentences) <= many else " ".join(sentences[:many])
