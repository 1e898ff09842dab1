"""Fit a prompt into the context window of its model."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from haystack import Document

from prefrag.components.state.state import WHOLE_TEXT
from prefrag.components.text.sentences import cut_text

Observations = Sequence[Sequence[Document]]
Prompt = TypeVar("Prompt")

# The tokens that a chat template puts around the messages, plus a reserve in case the estimate is too low. They count
# with neither the prompt nor the reply.
OVERHEAD_TOKENS = 48


# What many vocabularies write almost character by character: words with a digit, and signs, except those that are
# repeated or stand between a word and a blank.
_DENSE = re.compile(r"(?<!\w)[^\W\d]*+\d\w*+|([!-/:-@\[-^`{-~])(?!\1|(?<=[a-z].)\s)", re.ASCII | re.IGNORECASE)


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text without its model's tokeniser, to see whether a prompt fits its window.

    In words with a digit and in signs, a character counts as 1.13 tokens, because many vocabularies write each digit
    as a token. Everything else counts as :func:`rough_tokens`. Counted with the vocabulary of Qwen2.5, the estimate is
    high for English (1.5 times) and for tables of numbers (1.07 times), and low for Greek or Armenian (0.7 and 0.6
    times): :meth:`ModelRecord.learn_tokens` corrects it with the counts of the server.
    """
    dense = len(text) - len(_DENSE.sub("", text))
    return rough_tokens(text) + dense * 4 // 5


def rough_tokens(text: str) -> int:
    """Count three UTF-8 bytes as a token: English has over four, Chinese about three.

    This measures texts in the same way for each model. It does not tell whether numbers fit into a window.
    """
    return len(text.encode("utf-8", "surrogatepass")) // 3 + 1


@dataclass(frozen=True)
class FittedPrompt(Generic[Prompt]):
    """A prompt that fits into the window, and what was cut to make it fit."""

    prompt: Prompt
    documents_cut: int = 0  # how many documents were left out
    documents_shortened: int = 0  # how many documents of the newest observation were shortened


def fit_to_window(
    render: Callable[[Observations], Prompt],
    observations: Observations,
    *,
    room: int,
    tokens: Callable[[Any], int] = estimate_tokens,
) -> FittedPrompt[Prompt]:
    """Render a prompt with as many documents as ``room`` tokens hold.

    An observation is what one step of the run has found. The oldest observation loses documents first, beginning with
    its last document. The documents of the newest observation are first shortened, and left out only if necessary.
    """
    shown = [list(observation) for observation in observations]
    # Steps without documents (an answer, an unreadable reply) do not count as the newest observation.
    last = max((number for number, observation in enumerate(shown) if observation), default=0)
    prompt = render(shown)
    cut = 0
    for observation in shown[:last]:
        while observation and tokens(prompt) > room:
            observation.pop()
            cut += 1
            prompt = render(shown)
    if tokens(prompt) <= room:
        return FittedPrompt(prompt, cut)

    newest = shown[last] if shown else []
    share = max((len(document.content or "") for document in newest), default=0)
    while share > 0:
        share = share * 3 // 4
        shortened = [_shorten(document, share) for document in newest]
        prompt = render([*shown[:last], shortened, *shown[last + 1 :]])
        if tokens(prompt) <= room:
            changed = sum(new is not old for new, old in zip(shortened, newest, strict=True))
            return FittedPrompt(prompt, cut, changed)
    while newest:
        newest.pop()
        cut += 1
        prompt = render(shown)
        if tokens(prompt) <= room:
            return FittedPrompt(prompt, cut)
    raise ValueError(
        f"The prompt needs about {tokens(prompt)} tokens even without documents, but the model's window leaves only "
        f"{room}: ask a shorter question, or set a larger window (PREFRAG_LLM_CONTEXT, or `context_window` in the "
        "YAML). If the prompt repeats many long replies of the model, set a smaller max_tokens or max_steps."
    )


def _shorten(document: Document, characters: int) -> Document:
    content = document.content or ""
    if len(content) <= characters:
        return document
    # Prompts identify documents by their whole text, so `meta` keeps the text even if a document is shortened twice.
    meta = {WHOLE_TEXT: content, **document.meta}
    return replace(document, content=cut_text(content, characters, " ..."), meta=meta)
